// A runtime for tests: switches every hook on, writes down what it is told, and
// changes all that a hook may change. Layouts as in bohr-event's abi.rs.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct stub { int32_t nop; uint8_t code[28]; } __attribute__((aligned(32)));
struct module {
  uint64_t magic; uint32_t abi, profile; uint8_t program[32];
  uint8_t *flags; uint32_t *base; const void **hooks; const uint32_t *sites;
  struct stub *stubs, *stubs_end; uint32_t site_count, gate_count, vectors;
};

enum { BASE = 1000 };
static struct module *module;
static FILE *log_file;
static int failed;

static void check(int truth, const char *what) {
  if (!truth) { fprintf(stderr, "test runtime: %s\n", what); failed = 1; }
}

static void tell(const char *hook, uint32_t site, uint64_t a, uint64_t b, uint64_t c, uint32_t base) {
  check(base == BASE, "the site base is not in r11");
  check(site < module->site_count, "the site number is out of range");
  uint32_t info = module->sites[site];
  if (log_file)
    fprintf(log_file, "%s %u %u %u %llx %llx %llx\n", hook, site, info & 255, info >> 16,
            (unsigned long long)a, (unsigned long long)b, (unsigned long long)c);
}

void tell_access(uint32_t s, uint64_t a, uint64_t b, uint64_t c, uint32_t base) { tell("access", s, a, 0, 0, base); }
void tell_range(uint32_t s, uint64_t a, uint64_t b, uint64_t c, uint32_t base) { tell("range", s, a, b, 0, base); }
void tell_copy(uint32_t s, uint64_t a, uint64_t b, uint64_t c, uint32_t base) { tell("copy", s, a, b, c, base); }
void tell_fence(uint32_t s, uint64_t a, uint64_t b, uint64_t c, uint32_t base) { tell("fence", s, 0, 0, 0, base); }
void tell_call(uint32_t s, uint64_t a, uint64_t b, uint64_t c, uint32_t base) { tell("call", s, 0, 0, 0, base); }

// Saves what the contract wants preserved, checks the alignment of the stack by
// an aligned store, and returns with rax, r11 and the flags changed.
#define HOOK(name)                                                             \
  __asm__(".globl hook_" #name "\nhook_" #name ":\n"                           \
          "pushq %rbp\nmovq %rsp, %rbp\npushq %rcx\npushq %rdx\npushq %rsi\n"  \
          "pushq %rdi\npushq %r8\npushq %r9\npushq %r10\npushq %rbx\n"         \
          "subq $512, %rsp\nfxsave64 (%rsp)\n"                                 \
          "movl %r11d, %r8d\ncall tell_" #name "\n"                            \
          "fxrstor64 (%rsp)\naddq $512, %rsp\n"                                \
          "popq %rbx\npopq %r10\npopq %r9\npopq %r8\npopq %rdi\npopq %rsi\n"   \
          "popq %rdx\npopq %rcx\npopq %rbp\n"                                  \
          "movq $0x5a5a5a5a5a5a5a5a, %rax\nmovq %rax, %r11\n"                  \
          "addq %r11, %rax\nret\n");                                           \
  extern const char hook_##name[];
HOOK(access) HOOK(range) HOOK(copy) HOOK(fence) HOOK(call)

// Accesses arrive by a jump, the stub's words on the stack, the address in r11:
// calls the hook above as the other thunks call theirs, and restores everything.
__asm__(".hidden hook_access\n.globl enter_access\nenter_access:\n"
        "pushq %rax\npushfq\npushq %rdi\npushq %rsi\npushq %rbp\nmovq %rsp, %rbp\nandq $-16, %rsp\n"
        "movl 48(%rbp), %edi\nmovq %r11, %rsi\nmovl $1000, %r11d\ncall hook_access\n"
        "movq %rbp, %rsp\npopq %rbp\npopq %rsi\npopq %rdi\npopfq\npopq %rax\npopq %r11\nleaq 8(%rsp), %rsp\nret\n");
extern const char enter_access[];

// Skips the bodies and iterations whose numbers stand in the variable.
static int skips(const char *variable, uint32_t gate, uint32_t visit) {
  const char *text = getenv(variable);
  char wanted[32];
  snprintf(wanted, sizeof wanted, ",%u:%u,", gate, visit);
  return text && strstr(text, wanted);
}
static uint32_t visits[3][4096];
int tell_iteration(uint32_t gate) { return skips("SKIP_ITERATIONS", gate, visits[gate >> 31 ? 2 : 0][gate & 4095]++); }
int tell_body(uint32_t gate) { return skips("SKIP_BODIES", gate, visits[1][gate & 4095]++); }
#define GATE(name)                                                             \
  __asm__(".globl gate_" #name "\ngate_" #name ":\n"                           \
          "pushq %rcx\npushq %rdx\npushq %rsi\npushq %rdi\npushq %r8\n"        \
          "pushq %r9\npushq %r10\ncall tell_" #name "\n"                       \
          "popq %r10\npopq %r9\npopq %r8\npopq %rdi\npopq %rsi\npopq %rdx\n"   \
          "popq %rcx\nret\n");                                                 \
  extern const char gate_##name[];
GATE(iteration) GATE(body)

static void patch(struct stub *stub) {
  uint8_t *nop = (uint8_t *)stub + stub->nop;
  static const uint8_t off[5] = {0x0f, 0x1f, 0x44, 0, 0};
  check(memcmp(nop, off, 5) == 0, "there is no empty instruction");
  int32_t distance = (int32_t)(stub->code - (nop + 5));
  uintptr_t page = (uintptr_t)nop & ~4095ul;
  mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
  nop[0] = 0xe8;
  memcpy(nop + 1, &distance, 4);
}

static void finish(void) {
  if (log_file) fclose(log_file);
  if (failed) _Exit(99);
}

void __bohr_register(struct module *m) {
  module = m;
  check(m->magic == 0x646f6d2d72686f62, "the module has no magic");
  check(m->abi == 6 && m->profile == 1, "the module has another version");
  const char *path = getenv("HOOK_LOG");
  log_file = path ? fopen(path, "w") : 0;
  *m->base = BASE;
  const void *hooks[] = {enter_access, hook_range, hook_copy, hook_fence, hook_call, gate_iteration, gate_body};
  memcpy(m->hooks, hooks, sizeof hooks);
  *m->flags = 2;
  for (struct stub *stub = m->stubs; stub < m->stubs_end; stub++) patch(stub);
  atexit(finish);
}
