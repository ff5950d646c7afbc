/* The messages of the host: rings in the message area, and what each request does. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* messages_begin checks the header of the message area, and reports whether the host has one.
   Without it the other functions do nothing. */
bool messages_begin(void);

/* messages_open reports whether the host has a message area. */
bool messages_open(void);

/* area_read and area_write access a word of the message area, and report success. A failure is counted. */
bool area_read(uint32_t at, uint32_t *value);
bool area_write(uint32_t at, uint32_t value);

/* message writes what waits for room in the ring of answers, and then handles one request. It reports
   whether there may be another one. It returns false if it must wait for the host, which then rings. */
bool message(void);

/* messages_retry reports whether message must be called again, because an access to the message area failed and the time for
   the next try has come. messages_due returns in how many clocks that is; UINT32_MAX: never. */
bool messages_retry(void);
uint32_t messages_due(void);

/* notice sends a notice with three dwords as soon as there is room for it. Of more than 32 that wait
   the others are lost and counted. */
void notice(uint32_t op, uint32_t a, uint32_t b, uint32_t c);

/* notice_now is notice, and sends all notices at once if there is room. */
void notice_now(uint32_t op, uint32_t a, uint32_t b, uint32_t c);

/* notices reports whether there are notices since its last call, which message must write. */
bool notices(void);
