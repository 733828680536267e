/* compile.c - compiles a model in this process and runs it once on zeros.
 * compile MODEL.onnx [DEVICE]
 *
 * Built and run by the tests through find_package(pascaline). */
#include <pascaline/compile.h>
#include <pascaline/pascaline.h>
#include <stdio.h>
#include <stdlib.h>

static void say(void *user, pascaline_compile_severity severity,
                const char *message) {
  (void)user;
  fprintf(stderr, "compile: %s%s\n",
          severity == PASCALINE_COMPILE_ERROR ? "error: " : "", message);
}

static void check(pascaline_status status) {
  if (status != PASCALINE_OK) {
    fprintf(stderr, "compile: %s\n", pascaline_last_error());
    exit(1);
  }
}

int main(int argc, char **argv) {
  pascaline_compile_options options = {.size = sizeof options,
                                       .diagnostic = say};
  void *bytes;
  size_t count;
  if (argc < 2)
    return 2;
  if (pascaline_compile_file(argv[1], &options, &bytes, &count) !=
      PASCALINE_COMPILE_OK)
    return 1;

  pascaline_device *device;
  pascaline_model *model;
  pascaline_session *session;
  pascaline_tensor_info in, out;
  check(pascaline_device_open(argc > 2 ? argv[2] : "auto", NULL, &device));
  check(pascaline_model_open_bytes(bytes, count, argv[1], device, &model));
  check(pascaline_session_open(model, &session));
  check(pascaline_artifact_input(pascaline_model_artifact(model), 0, &in));
  check(pascaline_artifact_output(pascaline_model_artifact(model), 0, &out));
  pascaline_buffer input = {calloc(1, in.bytes), in.bytes, PASCALINE_HOST};
  pascaline_buffer output = {calloc(1, out.bytes), out.bytes, PASCALINE_HOST};
  check(pascaline_session_run(session, &input, 1, &output, 1));
  printf("%s[0] = %g\n", out.name, *(float *)output.data);
  pascaline_session_close(session);
  pascaline_model_close(model);
  pascaline_device_close(device);
  pascaline_compile_free(bytes);
  free(input.data);
  free(output.data);
  return 0;
}
