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
_LAYER_LINES = """\
/* One layer: for each neuron how many connections it has; for each connection how far
 * its input is from that of the one before (or from input 0), and its weight.
 * sum of a neuron = {sum} */
typedef struct {{
    $size n_neurons;
    const $count *counts;
    const $step *steps;
    const $weight *weights;
{scale}\
    const float *bias;
}} layer;
"""
LAYER = (
    _LAYER_LINES.format(
        sum="bias + scale * (sum of weight * input).",
        scale="    const float *scale;\n",
    ),
    _LAYER_LINES.format(sum="bias + sum of weight * input.", scale=""),
)
SUM = """\
/* The sums of all neurons of a layer. */
static void forward(const layer *own, const float *in, float *out)
{{
    const $step *step = own->steps;
    const $weight *weight = own->weights;
    $size i;
    for (i = 0; i < own->n_neurons; i++) {{
        const $weight *const end = weight + own->counts[i];
        const float *input = in;
        float sum = {start};
        while (weight < end) {{
            input += *step++;
            sum += {product};
        }}
        out[i] = {sum};
    }}
}}
"""
FORWARD = (
    SUM.format(
        start="0.0f",
        product="(float)*weight++ * *input",
        sum="own->bias[i] + own->scale[i] * sum",
    ),
    SUM.format(start="own->bias[i]", product="*weight++ * *input", sum="sum"),
)
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
    "identity": "",
}
RUN_LINES = """\
/* The sums of the last layer of a network, given its first layer. */
static void run(const layer *first, const float *inputs, float *scores)
{{
    float units[2][$n_units];
    const float *in = inputs;
    int i;
    for (i = 0; i < $n_layers - 1; i++) {{
        float *const out = units[i % 2];
        forward(first + i, in, out);
{activate}\
        in = out;
    }}
    forward(first + $n_layers - 1, in, scores);
}}
"""
RUN = (
    RUN_LINES.format(activate=""),
    RUN_LINES.format(activate="        activate(out, first[i].n_neurons);\n"),
)
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
    float inputs[$n_inputs];
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
static int largest(const float *scores)
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
    float inputs[$n_inputs];
    float scores[$n_outputs];
    encode(features, inputs);
    run(layers, inputs, scores);
    return largest(scores); /* which has the largest probability too */
}
"""
PREDICT_MEAN_CLASS = """\
int ${name}_predict(const $feature *features)
{
    float probabilities[$n_outputs];
    ${name}_predict_proba(features, probabilities);
    return largest(probabilities);
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
    float inputs[$n_inputs];
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
