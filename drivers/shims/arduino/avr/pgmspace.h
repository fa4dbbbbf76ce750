// Constants in flash, on a computer that has one kind of memory.
#ifndef PGMSPACE_H
#define PGMSPACE_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define PROGMEM
#define PGM_P const char*
#define PGM_VOID_P const void*
#define PSTR(text) (text)
typedef void prog_void;
typedef char prog_char;
typedef unsigned char prog_uchar;
typedef int8_t prog_int8_t;
typedef uint8_t prog_uint8_t;
typedef int16_t prog_int16_t;
typedef uint16_t prog_uint16_t;
typedef int32_t prog_int32_t;
typedef uint32_t prog_uint32_t;

#define pgm_read_byte(address) (*(const uint8_t*)(address))
#define pgm_read_word(address) (*(const uint16_t*)(address))
#define pgm_read_dword(address) (*(const uint32_t*)(address))
#define pgm_read_float(address) (*(const float*)(address))
#define pgm_read_ptr(address) (*(void* const*)(address))
#define pgm_read_byte_near(address) pgm_read_byte(address)
#define pgm_read_word_near(address) pgm_read_word(address)
#define pgm_read_dword_near(address) pgm_read_dword(address)
#define pgm_read_float_near(address) pgm_read_float(address)
#define pgm_read_ptr_near(address) pgm_read_ptr(address)

#define memchr_P memchr
#define memcmp_P memcmp
#define memcpy_P memcpy
#define memmem_P memmem
#define strcasecmp_P strcasecmp
#define strcat_P strcat
#define strchr_P strchr
#define strcmp_P strcmp
#define strcpy_P strcpy
#define strcspn_P strcspn
#define strlen_P strlen
#define strncasecmp_P strncasecmp
#define strncat_P strncat
#define strncmp_P strncmp
#define strncpy_P strncpy
#define strnlen_P strnlen
#define strrchr_P strrchr
#define strspn_P strspn
#define strstr_P strstr
#define printf_P printf
#define snprintf_P snprintf
#define sprintf_P sprintf
#define sscanf_P sscanf
#define vsnprintf_P vsnprintf
#define vsprintf_P vsprintf

#endif
