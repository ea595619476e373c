/* The library of Windows that Rust's standard library takes its randomness from, which the wine of Debian 12
 * does not have. */
#include <windows.h>

#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length) {
  return RtlGenRandom(data, (ULONG)length);
}
