/* Marks and assertions for programs that are hunted with bohr.
 *
 * bohr_assert(CONDITION) and bohr_fail(MESSAGE) end a run as a failed assert
 * does, with or without NDEBUG, and with or without bohr.
 *
 * Without bohr, marks cost a register move and change nothing.
 *
 * BOHR_RCB_BEGIN ... BOHR_RCB_END marks a block whose passes bohr may leave out
 * one by one when it reduces an execution: the body of a loop, the handling of
 * one request. What the block computes must not be needed after it when it is
 * left out. It is a block of its own: `break` and `continue` in it belong to the
 * loop around it, and names declared in it end with it.
 *
 *     for (i = 0; next_request(&request); i++) {
 *         BOHR_RCB_BEGIN
 *         handle(&request);
 *         BOHR_RCB_END
 *     }
 */
#ifndef BOHR_H
#define BOHR_H

#if defined(__GNUC__) && defined(__x86_64__)
#define BOHR_TEXT_(x) #x
#define BOHR_TEXT(x) BOHR_TEXT_(x)
/* A one that the compiler cannot see through; the comment says which mark it is. */
#define BOHR_RCB_BEGIN                                                         \
  if (__extension__({                                                          \
        int bohr_enter_ = 1;                                                   \
        __asm__ volatile("# bohr.rcb " __FILE__ ":" BOHR_TEXT(__LINE__)        \
                         : "+r"(bohr_enter_));                                 \
        bohr_enter_;                                                           \
      })) {
#else
#define BOHR_RCB_BEGIN if (1) {
#endif
#define BOHR_RCB_END }

/* The C library's own, which <assert.h> does not declare under NDEBUG. */
#ifdef __cplusplus
extern "C" void __assert_fail(const char *, const char *, unsigned int, const char *)
#if __cplusplus >= 201103L
    noexcept
#else
    throw()
#endif
    __attribute__((__noreturn__));
#else
extern void __assert_fail(const char *, const char *, unsigned int, const char *)
    __attribute__((__nothrow__, __noreturn__));
#endif
#define bohr_assert(condition)                                                 \
  ((condition) ? (void)0 : bohr_fail(#condition))
#define bohr_fail(message) __assert_fail(message, __FILE__, __LINE__, __func__)

#endif
