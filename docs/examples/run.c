/* run.c - loads a model and runs it once on zeros.  run MODEL.pasc [DEVICE]
 *
 * Built and run by the tests through find_package(pascaline). */
#include <pascaline/pascaline.h>
#include <stdio.h>
#include <stdlib.h>

static void check(pascaline_status status) {
  if (status != PASCALINE_OK) {
    fprintf(stderr, "run: %s\n", pascaline_last_error());
    exit(1);
  }
}

/* Zeroed memory for one input or output. */
static pascaline_buffer buffer_for(const pascaline_tensor_info *tensor) {
  pascaline_buffer buffer = {NULL, tensor->bytes, PASCALINE_HOST};
  buffer.data = calloc(1, tensor->bytes ? (size_t)tensor->bytes : 1);
  if (!buffer.data)
    exit(1);
  return buffer;
}

int main(int argc, char **argv) {
  pascaline_device *device;
  pascaline_model *model;
  pascaline_session *session;
  pascaline_artifact_info info;
  pascaline_tensor_info tensor;
  if (argc < 2)
    return 2;
  check(pascaline_device_open(argc > 2 ? argv[2] : "auto", NULL, &device));
  check(pascaline_model_open(argv[1], device, &model));
  check(pascaline_session_open(model, &session));

  const pascaline_artifact *artifact = pascaline_model_artifact(model);
  check(pascaline_artifact_get_info(artifact, &info));
  pascaline_buffer *in = calloc(info.input_count + 1, sizeof *in);
  pascaline_buffer *out = calloc(info.output_count + 1, sizeof *out);
  for (size_t i = 0; i < info.input_count; ++i) {
    check(pascaline_artifact_input(artifact, i, &tensor));
    in[i] = buffer_for(&tensor);
  }
  for (size_t i = 0; i < info.output_count; ++i) {
    check(pascaline_artifact_output(artifact, i, &tensor));
    out[i] = buffer_for(&tensor);
  }
  check(pascaline_session_run(session, in, info.input_count, out,
                              info.output_count));
  if (info.output_count && tensor.type == PASCALINE_F32 && tensor.bytes)
    printf("%s[0] = %g\n", tensor.name,
           *(float *)out[info.output_count - 1].data);
  pascaline_session_close(session);
  pascaline_model_close(model);
  pascaline_device_close(device);
  return 0;
}
