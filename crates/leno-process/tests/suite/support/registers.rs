//! Work that keeps each kind of register alive all the time, so that losing one changes the result.

use std::arch::asm;

type Work = fn(u64) -> u64;

/// Each, with what it is about.
pub(crate) const ALL: &[(&str, Work)] = &[
    ("a general register", general),
    ("a flag", flags),
    ("a word below the stack pointer", red_zone),
    ("a string instruction's count", string),
    ("an x87 register", x87),
    ("an SSE register", sse),
    ("an AVX register", avx),
    ("an AVX-512 register", avx512),
    ("a rounding mode", rounding),
];

#[inline(never)]
fn general(laps: u64) -> u64 {
    let (mut a, mut b, mut c, mut d, mut e) = (1_u64, 2_u64, 3_u64, 5_u64, 7_u64);
    for n in 0..laps {
        a = a.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(b);
        b ^= a >> 13;
        c = c.rotate_left(7) ^ a;
        d = d.wrapping_add(c ^ n);
        e = if d & 1 == 0 { e.wrapping_add(b) } else { e ^ c };
    }
    a ^ b ^ c ^ d ^ e
}

/// The carry is alive from each instruction to the next.
#[inline(never)]
fn flags(laps: u64) -> u64 {
    let sum: u64;
    // SAFETY: computes in registers.
    unsafe {
        asm!(
            "xor {sum:e}, {sum:e}",
            "stc",
            "2:",
            "adc {sum}, 3",
            "rcl {sum}, 1",
            "lea rcx, [rcx - 1]",
            "jrcxz 3f",
            "jmp 2b",
            "3:",
            "adc {sum}, 0",
            sum = out(reg) sum,
            inout("rcx") laps.max(1) => _,
            options(nostack),
        );
    }
    sum
}

#[inline(never)]
fn red_zone(laps: u64) -> u64 {
    let result: u64;
    // SAFETY: uses the 128 bytes that a leaf may use below its stack pointer, as the compiler is told
    // that this uses the stack.
    unsafe {
        asm!(
            "mov qword ptr [rsp - 8], 1",
            "mov qword ptr [rsp - 64], 3",
            "mov qword ptr [rsp - 120], 5",
            "2:",
            "mov {word}, [rsp - 8]",
            "add {word}, [rsp - 64]",
            "rol {word}, 5",
            "mov [rsp - 8], {word}",
            "xor {word}, [rsp - 120]",
            "mov [rsp - 120], {word}",
            "add [rsp - 64], {word}",
            "dec {laps}",
            "jnz 2b",
            "mov {result}, [rsp - 64]",
            word = out(reg) _,
            laps = inout(reg) laps.max(1) => _,
            result = out(reg) result,
        );
    }
    result
}

#[inline(never)]
fn string(laps: u64) -> u64 {
    let from: [u8; 4096] = std::array::from_fn(|n| n as u8);
    let mut to = [0_u8; 4096];
    let mut hash = 0_u64;
    for n in 0..laps / 256 {
        // SAFETY: copies from one array to another one as long.
        unsafe {
            asm!("rep movsb", inout("rcx") 4096_usize => _, inout("rsi") from.as_ptr() => _,
                inout("rdi") to.as_mut_ptr() => _, options(nostack));
        }
        hash = hash.wrapping_mul(31).wrapping_add(u64::from(to[(n as usize * 7) % 4096]));
    }
    hash
}

#[inline(never)]
fn x87(laps: u64) -> u64 {
    let mut result = 0_f64;
    // SAFETY: computes in registers, and stores one word.
    unsafe {
        asm!(
            "fld1",
            "fld1",
            "fldpi",
            "2:",
            "fadd st(0), st(1)",
            "fmul st(0), st(2)",
            "fchs",
            "fabs",
            "fsqrt",
            "fadd st(0), st(1)",
            "dec {laps}",
            "jnz 2b",
            "fstp qword ptr [{result}]",
            "fstp st(0)",
            "fstp st(0)",
            laps = inout(reg) (laps / 16).max(1) => _,
            result = in(reg) &raw mut result,
            out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
            out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
            options(nostack),
        );
    }
    result.to_bits()
}

#[inline(never)]
fn sse(laps: u64) -> u64 {
    let mut values = [1.0_f64; 12];
    for n in 0..laps {
        for (place, value) in values.iter_mut().enumerate() {
            *value = *value * 1.000_000_1 + (place as f64) - (n % 3) as f64;
        }
    }
    values.iter().fold(0, |hash, value| hash ^ value.to_bits())
}

#[inline(never)]
fn avx(laps: u64) -> u64 {
    if !std::arch::is_x86_feature_detected!("avx2") {
        return 0;
    }
    let mut result = [0_u64; 4];
    // SAFETY: the processor has AVX2; computes in registers, and stores four words.
    unsafe {
        asm!(
            "vmovq xmm6, {laps}",
            "vpbroadcastq ymm6, xmm6",
            "vmovdqa ymm15, ymm6",
            "2:",
            "vpaddq ymm6, ymm6, ymm15",
            "vpsrlq ymm7, ymm6, 7",
            "vpxor ymm6, ymm6, ymm7",
            "vpsllq ymm15, ymm15, 1",
            "vpaddq ymm15, ymm15, ymm7",
            "dec {laps}",
            "jnz 2b",
            "vmovdqu [{result}], ymm6",
            "vzeroupper",
            laps = inout(reg) laps.max(1) => _,
            result = in(reg) result.as_mut_ptr(),
            out("ymm6") _, out("ymm7") _, out("ymm15") _,
            options(nostack),
        );
    }
    result.iter().fold(0, |hash, word| hash ^ word)
}

/// Upper registers, upper halves and masks.
#[inline(never)]
fn avx512(laps: u64) -> u64 {
    let has = |_: ()| {
        std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512bw")
    };
    if !has(()) {
        return 0;
    }
    let mut result = [0_u64; 8];
    let masks: u64;
    // SAFETY: the processor has AVX-512; computes in registers, and stores eight words.
    unsafe {
        asm!(
            "mov {sum}, 0x123456789abcdef",
            "kmovq k3, {sum}",
            "vpbroadcastq zmm20, {sum}",
            "vpbroadcastq zmm31, {laps}",
            "xor {sum:e}, {sum:e}",
            "2:",
            "vpaddq zmm20, zmm20, zmm31",
            "vprolq zmm20, zmm20, 9",
            "kaddq k4, k3, k3",
            "kxorq k3, k3, k4",
            "kshiftlq k5, k3, 1",
            "kxorq k3, k3, k5",
            "kmovq {word}, k3",
            "add {sum}, {word}",
            "dec {laps}",
            "jnz 2b",
            "vmovdqu64 [{result}], zmm20",
            laps = inout(reg) laps.max(1) => _,
            sum = out(reg) masks,
            word = out(reg) _,
            result = in(reg) result.as_mut_ptr(),
            out("zmm20") _, out("zmm31") _, out("k3") _, out("k4") _, out("k5") _,
            options(nostack),
        );
    }
    result.iter().fold(masks, |hash, word| hash ^ word)
}

/// Rounds upwards meanwhile, which is no other coroutine's business.
#[inline(never)]
fn rounding(laps: u64) -> u64 {
    let (up, mut before) = (0x5f80_u32, 0_u32);
    let mut sum = 0.1_f64;
    // SAFETY: the rounding mode is put back at the end, and nothing is computed in between but here.
    unsafe {
        asm!(
            "stmxcsr [{before}]",
            "ldmxcsr [{up}]",
            "2:",
            "divsd {sum}, {three}",
            "addsd {sum}, {three}",
            "dec {laps}",
            "jnz 2b",
            "ldmxcsr [{before}]",
            before = in(reg) &raw mut before,
            up = in(reg) &raw const up,
            laps = inout(reg) laps.max(1) => _,
            sum = inout(xmm_reg) sum,
            three = in(xmm_reg) 3.0_f64,
            options(nostack),
        );
    }
    sum.to_bits()
}
