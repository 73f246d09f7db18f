/* A runtime for a test: switches every hook on and writes down, once a second
 * thread exists, which thread touches which bytes at which site. Layouts as in
 * bohr-event's abi.rs.
 *
 * Memory is never given back, so that an address means the same thing all the
 * time; stacks are, and a record of the site STACK tells when one has a new
 * owner. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct stub { int32_t nop; uint8_t code[28]; } __attribute__((aligned(32)));
struct module {
  uint64_t magic; uint32_t abi, profile; uint8_t program[32];
  uint8_t *flags; uint32_t *base; const void **hooks; const uint32_t *sites;
  struct stub *stubs, *stubs_end; uint32_t site_count, gate_count, vectors;
};

struct access { uint64_t address, size; uint32_t site, thread, writes, unused; };
enum { ROOM = 1 << 22, READ = 4 };
#define STACK UINT32_MAX

static struct module *module;
static struct access *accesses;
static uint64_t count;
static uint32_t started, threads;
static _Thread_local uint32_t self __attribute__((tls_model("initial-exec")));

static void note(uint32_t site, uint64_t address, uint64_t size, uint32_t writes) {
  if (!__atomic_load_n(&started, __ATOMIC_ACQUIRE)) return;
  if (!self) self = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
  uint64_t at = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
  if (at < ROOM) accesses[at] = (struct access){ address, size, site, self, writes, 0 };
}

static int writes(uint32_t site) { return (module->sites[site] & 255) != READ; }
void tell_access(uint32_t site, uint64_t address) { note(site, address, module->sites[site] >> 16, writes(site)); }
void tell_range(uint32_t site, uint64_t address, uint64_t size) { note(site, address, size, writes(site)); }
void tell_copy(uint32_t site, uint64_t to, uint64_t from, uint64_t size) {
  note(site, to, size, 1);
  note(site, from, size, 0);
}
void tell_other(void) {}

#define HOOK(name)                                                             \
  __asm__(".globl hook_" #name "\nhook_" #name ":\n"                           \
          "pushq %rbp\nmovq %rsp, %rbp\npushq %rcx\npushq %rdx\npushq %rsi\n"  \
          "pushq %rdi\npushq %r8\npushq %r9\npushq %r10\npushq %rbx\n"         \
          "movq %rsp, %rbx\nsubq $512, %rsp\nandq $-16, %rsp\n"               \
          "fxsave64 (%rsp)\ncall tell_" #name "\n"                             \
          "fxrstor64 (%rsp)\nmovq %rbx, %rsp\n"                                \
          "popq %rbx\npopq %r10\npopq %r9\npopq %r8\npopq %rdi\npopq %rsi\n"   \
          "popq %rdx\npopq %rcx\npopq %rbp\nret\n");                           \
  extern const char hook_##name[];
HOOK(access) HOOK(range) HOOK(copy) HOOK(other)

// Accesses arrive by a jump, the stub's words on the stack, the address in r11.
__asm__(".hidden hook_access\n.globl enter_access\nenter_access:\n"
        "pushq %rax\npushfq\npushq %rdi\npushq %rsi\npushq %rbp\nmovq %rsp, %rbp\nandq $-16, %rsp\n"
        "movl 48(%rbp), %edi\nmovq %r11, %rsi\ncall hook_access\n"
        "movq %rbp, %rsp\npopq %rbp\npopq %rsi\npopq %rdi\npopfq\npopq %rax\npopq %r11\nleaq 8(%rsp), %rsp\nret\n");
extern const char enter_access[];

__asm__(".globl gate\ngate: xorl %eax, %eax\nret\n");
extern const char gate[];

static void patch(struct stub *stub) {
  uint8_t *nop = (uint8_t *)stub + stub->nop;
  int32_t distance = (int32_t)(stub->code - (nop + 5));
  mprotect((void *)((uintptr_t)nop & ~4095ul), 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
  nop[0] = 0xe8;
  memcpy(nop + 1, &distance, 4);
}

void __bohr_register(struct module *m) {
  module = m;
  int file = open(getenv("ACCESS_LOG"), O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || ftruncate(file, (off_t)ROOM * sizeof *accesses)) abort();
  accesses = mmap(0, (size_t)ROOM * sizeof *accesses, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  const void *hooks[] = { enter_access, hook_range, hook_copy, hook_other, hook_other, gate, gate };
  memcpy(m->hooks, hooks, sizeof hooks);
  *m->flags = 2;
  for (struct stub *stub = m->stubs; stub < m->stubs_end; stub++) patch(stub);
}

struct start { void *(*routine)(void *); void *argument; };

static void *run(void *given) {
  struct start start = *(struct start *)given;
  pthread_attr_t own;
  void *stack;
  size_t size;
  pthread_getattr_np(pthread_self(), &own);
  pthread_attr_getstack(&own, &stack, &size);
  note(STACK, (uint64_t)stack, size, 0);
  return start.routine(start.argument);
}

int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *p) {
  int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  create = (__typeof__(create))dlsym(RTLD_NEXT, "pthread_create");
  __atomic_store_n(&started, 1, __ATOMIC_RELEASE);
  struct start *start = malloc(sizeof *start);
  *start = (struct start){ f, p };
  return create(t, a, run, start);
}

void free(void *memory) { (void)memory; }
void *realloc(void *memory, size_t size) {
  void *fresh = malloc(size);
  size_t old = memory ? malloc_usable_size(memory) : 0;
  if (fresh && memory) memcpy(fresh, memory, old < size ? old : size);
  return fresh;
}
