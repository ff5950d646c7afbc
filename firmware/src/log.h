/* The log: lines of a number for the format and up to 3 arguments, in a ring of the message area. */
#pragma once

#include <stdint.h>

#include "hw.h"

#define LOG_ARGUMENTS 3

/* Levels of lines. */
enum log_level { LOG_NONE, LOG_ERROR, LOG_EVENT, LOG_DEBUG };

/* LOG writes a line. The format is a constant with %u and %x. It stays in the ELF file. The arguments
   have 32 bits. */
#define LOG(level, format, ...) log_line(level, LOG_ID(format), (const uint32_t[LOG_ARGUMENTS]){__VA_ARGS__})

/* log_begin begins with errors and events. */
void log_begin(void);

/* log_select selects the highest level that is written. It handles the request LOG. */
uint32_t log_select(const uint32_t *in);

/* log_line writes a line if its level is selected. It counts a line that the ring has no room for. */
void log_line(uint32_t level, uint32_t id, const uint32_t *arguments);
