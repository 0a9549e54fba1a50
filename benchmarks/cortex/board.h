/* What programs on the emulated board can do: print, and count instructions. */
#ifndef BOARD_H
#define BOARD_H

/* Print a number and a space. */
void board_say(unsigned number);

/* Begin to count instructions. QEMU must run with -icount shift=0. */
void board_start(void);

/* Instructions since then, 40 at a time, up to 40 * 2^24. */
unsigned board_instructions(void);

#endif
