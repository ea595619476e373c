#include <stdio.h>
#include <zkrecipes.h>

int main(void) { return puts(zkr_version()) < 0; }
