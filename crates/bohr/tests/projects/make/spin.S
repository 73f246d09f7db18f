        .globl  spin
        .type   spin, @function
spin:
        pause
        ret
        .section .note.GNU-stack,"",@progbits
