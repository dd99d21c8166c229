/* Vectors of a Cortex-M4F for a program of the C library newlib: the floating-point unit is
 * switched on, then everything begins as usual. */
void _start(void);
void reset(void);

#define STACK_END 0x00300000 /* in the first 4 MB, which are memory in QEMU's mps2-an386 */

__attribute__((section(".vectors"), used)) static void (*const vectors[])(void) = {
    (void (*)(void))STACK_END, reset};

__attribute__((naked)) void reset(void)
{
    __asm__("ldr r0, =0xe000ed88\n" /* CPACR */
            "ldr r1, [r0]\n"
            "orr r1, r1, #0xf00000\n"
            "str r1, [r0]\n"
            "dsb\n"
            "isb\n"
            "b _start\n");
}
