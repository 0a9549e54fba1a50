/* The least that a program needs to run on the boards mps2-an385 (Cortex-M3) and
 * mps2-an386 (Cortex-M4) of QEMU: vectors, a start, text to the host, the SysTick. */
#include "board.h"

extern int main(void);
extern const unsigned board_data_stored[];
extern unsigned board_data_start[];
extern unsigned board_data_end[];
extern unsigned board_bss_start[];
extern unsigned board_bss_end[];
extern unsigned board_stack;
void board_reset(void);

__attribute__((section(".vectors"), used)) static const void* const vectors[2] = {
    &board_stack, (const void*)board_reset};

static volatile unsigned* const SYSTICK = (volatile unsigned*)0xE000E010u;
static volatile unsigned* const COPROCESSORS = (volatile unsigned*)0xE000ED88u;

/* Ask the host for something (semihosting). */
static void ask(int what, const void* argument) {
    register int r0 __asm__("r0") = what;
    register const void* r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}

void board_reset(void) {
    const unsigned* stored = board_data_stored;
    unsigned* word;
    *COPROCESSORS |= 0xFu << 20; /* the floating-point unit, where there is one */
    __asm__ volatile("dsb\n\tisb");
    for (word = board_data_start; word < board_data_end; word++) {
        *word = *stored++;
    }
    for (word = board_bss_start; word < board_bss_end; word++) {
        *word = 0;
    }
    SYSTICK[1] = 0xFFFFFFu;
    SYSTICK[2] = 0;
    SYSTICK[0] = 5;
    main();
    ask(0x18, (const void*)0x20026); /* the program has ended */
    for (;;) {}
}

void board_say(unsigned number) {
    char text[12];
    int i = 11;
    text[i] = '\0';
    text[--i] = ' ';
    do {
        text[--i] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    ask(4, text + i);
}

static unsigned started;

void board_start(void) { started = SYSTICK[2]; }

unsigned board_instructions(void) {
    /* The timer has 24 bits and counts down at 25 MHz; an instruction takes 1 ns. */
    return 40u * ((started - SYSTICK[2]) & 0xFFFFFFu);
}
