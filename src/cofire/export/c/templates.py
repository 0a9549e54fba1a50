"""The C code that does not depend on the model; words with $ are filled in."""

TOP = """\
/* A model that cofire trained, in C99. What it takes and gives: $stem.h. */

#include "$stem.h"

#include <math.h>
"""
INPUTS = """\
/* ---- from features to the inputs of the networks --------------------------------- */
"""
NETWORKS = """\
/* ---- networks -------------------------------------------------------------------- */
"""
# ---- networks in float ---------------------------------------------------------------

LAYER = """\
/* One layer: for each neuron how many connections it has; for each connection how far
 * its input is from that of the one before (or from input 0), and its weight. */
typedef struct {
    $size n_neurons;
    const $count *counts;
    const $step *steps;
    const float *weights;
    const float *bias;
} layer;
"""
FORWARD = """\
/* The sums of all neurons of a layer: bias + sum of weight * input. */
static void forward(const layer *own, const float *in, float *out)
{
    const $step *step = own->steps;
    const float *weight = own->weights;
    $size i;
    for (i = 0; i < own->n_neurons; i++) {
        const float *const end = weight + own->counts[i];
        const float *input = in;
        float sum = own->bias[i];
        while (weight < end) {
            input += *step++;
            sum += *weight++ * *input;
        }
        out[i] = sum;
    }
}
"""
RUN = """\
/* The sums of the last layer of a network, given its first layer. */
static void run(const layer *first, const float *inputs, float *scores)
{
    float units[2][$n_units];
    const float *in = inputs;
    int i;
    for (i = 0; i < $n_layers - 1; i++) {
        float *const out = units[i % 2];
        forward(first + i, in, out);
        activate(out, first[i].n_neurons);
        in = out;
    }
    forward(first + $n_layers - 1, in, scores);
}
"""

# ---- networks in whole numbers -------------------------------------------------------

WHOLE_LAYER = """\
/* One layer: for each neuron how many connections it has; for each connection how far
 * its input is from that of the one before (or from input 0), and its weight, a whole
 * number. Inputs are whole numbers too, of size `most` at the most: so no sum of
 * products is too large for its type. */
typedef struct {
    $size n_neurons;
    short most;
    const $count *counts;
    const $step *steps;
    const $weight *weights;
    const float *scale;
    const float *bias;
} layer;
"""
WHOLE_FORWARD = """\
/* The sums of all neurons of a layer: bias + scale * unit * (sum of weight * input). */
static void forward(const layer *own, const short *in, float unit, float *out)
{
    const $step *step = own->steps;
    const $weight *weight = own->weights;
    $size i;
    for (i = 0; i < own->n_neurons; i++) {
        const $weight *const end = weight + own->counts[i];
        const short *input = in;
        $sum sum = 0;
        while (weight < end) {
            input += *step++;
            sum += (long)*weight++ * *input;
        }
        out[i] = own->bias[i] + own->scale[i] * unit * (float)sum;
    }
}
"""
SHORTEN = """\
/* Round values to whole numbers of size `most` at the most; return their unit. */
static float shorten(const float *values, $size n, short most, short *out)
{
    float largest = 0.0f;
    float factor;
    $size i;
    for (i = 0; i < n; i++) {
        const float size = values[i] < 0.0f ? -values[i] : values[i];
        largest = size > largest ? size : largest;
    }
    factor = largest > 1e-30f ? (float)most / largest : 0.0f;
    for (i = 0; i < n; i++) {
        const float value = factor * values[i];
        out[i] = (short)(value < 0.0f ? value - 0.5f : value + 0.5f);
    }
    return largest / (float)most;
}
"""
WHOLE_RUN = """\
/* The sums of the last layer of a network, given its first layer. */
static void run(const layer *first, const float *inputs, float *scores)
{
    short values[$n_values];
    float sums[$n_units];
    float unit = shorten(inputs, $n_inputs, first[0].most, values);
    int i;
    for (i = 0; i < $n_layers - 1; i++) {
        forward(first + i, values, unit, sums);
        activate(sums, first[i].n_neurons);
        unit = shorten(sums, first[i].n_neurons, first[i + 1].most, values);
    }
    forward(first + $n_layers - 1, values, unit, scores);
}
"""
BYTES_RUN = """\
/* The sums of the last layer of a network, given its first layer. */
static void run(const layer *first, const short *inputs, float *scores)
{
    short values[$n_values];
    float sums[$n_units];
    const short *in = inputs;
    float unit = 1.0f;
    int i;
    for (i = 0; i < $n_layers - 1; i++) {
        forward(first + i, in, unit, sums);
        activate(sums, first[i].n_neurons);
        unit = shorten(sums, first[i].n_neurons, first[i + 1].most, values);
        in = values;
    }
    forward(first + $n_layers - 1, in, unit, scores);
}
"""
ONE_LAYER_RUN = {
    "float": """\
static void run(const layer *first, const float *inputs, float *scores)
{
    forward(first, inputs, scores);
}
""",
    "whole": """\
static void run(const layer *first, const float *inputs, float *scores)
{
    short values[$n_inputs];
    const float unit = shorten(inputs, $n_inputs, first->most, values);
    forward(first, values, unit, scores);
}
""",
    "bytes": """\
static void run(const layer *first, const short *inputs, float *scores)
{
    forward(first, inputs, 1.0f, scores);
}
""",
}
"""Of networks without a hidden layer."""

# ---- what both share -----------------------------------------------------------------

ACTIVATED = """\
/* What hidden neurons make of their sums. */
static void activate(float *sums, $size n)
{{
    $size i;
    for (i = 0; i < n; i++) {{
        sums[i] = {function};
    }}
}}
"""
ACTIVATE = {
    "relu": ACTIVATED.format(function="sums[i] > 0.0f ? sums[i] : 0.0f"),
    "leaky_relu": ACTIVATED.format(
        function="sums[i] < 0.0f ? $slope * sums[i] : sums[i]"
    ),
    "tanh": ACTIVATED.format(function="tanhf(sums[i])"),
    "identity": ACTIVATED.format(function="sums[i]"),
}
PREDICTIONS = """\
/* ---- predictions ----------------------------------------------------------------- */
"""
SOFTMAX = """\
/* From scores to probabilities (softmax). */
static void to_probabilities(float *scores)
{
    float most = scores[0];
    float sum = 0.0f;
    int i;
    for (i = 1; i < $n_outputs; i++) {
        most = scores[i] > most ? scores[i] : most;
    }
    for (i = 0; i < $n_outputs; i++) {
        scores[i] = expf(scores[i] - most);
        sum += scores[i];
    }
    for (i = 0; i < $n_outputs; i++) {
        scores[i] /= sum;
    }
}
"""
SIGMOID = """\
/* From scores to probabilities (sigmoid). */
static void to_probabilities(float *scores)
{
    int i;
    for (i = 0; i < $n_outputs; i++) {
        scores[i] = 1.0f / (1.0f + expf(-scores[i]));
    }
}
"""
PREDICT_PROBA = """\
void ${name}_predict_proba(const $feature *features, float *probabilities)
{
    $input inputs[$n_inputs];
    float scores[$n_outputs];
    int n;
    int i;
    encode(features, inputs);
    for (i = 0; i < $n_outputs; i++) {
        probabilities[i] = 0.0f;
    }
    for (n = 0; n < $n_networks; n++) {
        run(layers + n * $n_layers, inputs, scores);
        to_probabilities(scores);
        for (i = 0; i < $n_outputs; i++) {
            probabilities[i] += $share * scores[i];
        }
    }
}
"""
LARGEST = """\
/* The index of the largest score. */
static int best(const float *scores)
{
    int found = 0;
    int i;
    for (i = 1; i < $n_outputs; i++) {
        found = scores[i] > scores[found] ? i : found;
    }
    return found;
}
"""
PREDICT_CLASS = """\
int ${name}_predict(const $feature *features)
{
    $input inputs[$n_inputs];
    float scores[$n_outputs];
    encode(features, inputs);
    run(layers, inputs, scores);
    return best(scores); /* which has the largest probability too */
}
"""
PREDICT_MEAN_CLASS = """\
int ${name}_predict(const $feature *features)
{
    float probabilities[$n_outputs];
    ${name}_predict_proba(features, probabilities);
    return best(probabilities);
}
"""
PREDICT_LABELS = """\
void ${name}_predict(const $feature *features, unsigned char *labels)
{
    float probabilities[$n_outputs];
    int i;
    ${name}_predict_proba(features, probabilities);
    for (i = 0; i < $n_outputs; i++) {
        labels[i] = probabilities[i] > 0.5f;
    }
}
"""
NUMBERS = """\
/* What all networks predict, on average, in units of the target. */
static void predict_all(const $feature *features, $result *results)
{
    $input inputs[$n_inputs];
    float scores[$n_outputs];
    float sums[$n_outputs] = {0.0f};
    int n;
    int i;
    encode(features, inputs);
    for (n = 0; n < $n_networks; n++) {
        run(layers + n * $n_layers, inputs, scores);
        for (i = 0; i < $n_outputs; i++) {
            sums[i] += $share * scores[i];
        }
    }
    for (i = 0; i < $n_outputs; i++) {
        results[i] = ($result)sums[i] * result_scale[i] + result_mean[i];
    }
}
"""
ONE_NUMBER = """\
$result ${name}_predict(const $feature *features)
{
    $result result;
    predict_all(features, &result);
    return result;
}
"""
ALL_NUMBERS = """\
void ${name}_predict(const $feature *features, $result *results)
{
    predict_all(features, results);
}
"""
