/* What failed: the words for the last error of a thread. */
#include "support.h"

#include <stdarg.h>
#include <stdio.h>

static __thread char ns_message[1024];

int ns_fail(int status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(ns_message, sizeof ns_message, format, arguments);
  va_end(arguments);
  return status;
}

const char* ns_last_error(void) {
  return ns_message;
}

const char* ns_error_text(int status) {
  switch (status) {
    case NS_OK:
      return "ok";
    case NS_INVALID_ARGUMENT:
      return "invalid argument";
    case NS_UNSUPPORTED:
      return "unsupported";
    case NS_NO_DEVICE:
      return "no GPU";
    case NS_DRIVER:
      return "CUDA error";
    case NS_NOT_PREPARED:
      return "not prepared";
    case NS_OUT_OF_MEMORY:
      return "out of memory";
    case NS_KERNEL_FAULT:
      return "kernel fault";
    case NS_INTERNAL:
      return "internal error";
    default:
      return "unknown status";
  }
}
