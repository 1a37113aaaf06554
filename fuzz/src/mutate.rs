//! Seeded changes of an input, for runs that must be the same on every machine.

/// A number that looks random and follows from `state` (S. Vigna's splitmix64).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut x = *state;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// What decoders trip over.
const WORDS: [&[u8]; 24] = [
    b"\0",
    b"\n",
    b"\"",
    b"\\",
    b"{",
    b"[",
    b"(",
    b")",
    b",",
    b":",
    b"=",
    b" ",
    b"-",
    b"%00",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"18446744073709551615",
    b"1e308",
    b"1e-308",
    b"NaN",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\xf0\x9f\xa6\x80",
    b"\xc3\x28",
];

/// Changes `input` in one to eight places, as `seed` says; `other` lends pieces.
pub fn mutate(input: &[u8], other: &[u8], seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut out = input.to_vec();
    for _ in 0..=next(&mut state) % 8 {
        let at = below(&mut state, out.len() + 1);
        let to = (at + below(&mut state, 16)).min(out.len());
        match next(&mut state) % 8 {
            0 if at < out.len() => out[at] ^= 1 << (next(&mut state) % 8),
            1 if at < out.len() => out[at] = next(&mut state) as u8,
            2 => drop(out.drain(at..to)),
            3 => drop(out.splice(at..at, out[at..to].repeat(1 + below(&mut state, 40)))),
            4 => drop(out.splice(at..to, WORDS[below(&mut state, WORDS.len())].iter().copied())),
            5 => out.truncate(at),
            6 if !other.is_empty() => {
                let from = below(&mut state, other.len());
                let until = (from + below(&mut state, 64)).min(other.len());
                out.splice(at..to, other[from..until].iter().copied());
            }
            _ => {
                let number = next(&mut state) >> (next(&mut state) % 64);
                out.splice(at..to, number.to_string().into_bytes());
            }
        }
    }
    out
}

fn below(state: &mut u64, bound: usize) -> usize {
    (next(state) % bound.max(1) as u64) as usize
}
