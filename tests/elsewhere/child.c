/* Says by a file that it runs, and stays: child FILE. With a word behind it, a child of its own does. */
#include <process.h>
#include <stdio.h>
#include <windows.h>

enum { STAYS_MS = 90000 };

int main(int argc, char **argv) {
  char own[MAX_PATH];
  GetModuleFileNameA(NULL, own, sizeof own);
  if (argc > 2) return (int)_spawnl(_P_WAIT, own, "child", argv[1], NULL);
  FILE *file = fopen(argv[1], "w");
  if (file) fclose(file);
  Sleep(STAYS_MS);
  return 0;
}
