//! Every target over its seeds, what once broke something, and a fixed number of seeded changes.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a panic is what is looked for"
)]

use foliot_fuzz::{TARGETS, Target, mutate};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Changed inputs of each target. `FUZZ_INPUTS` asks for more.
const INPUTS: u64 = 300;

fn inputs() -> u64 {
    std::env::var("FUZZ_INPUTS").ok().and_then(|text| text.parse().ok()).unwrap_or(INPUTS)
}

fn run(target: &Target, input: &[u8], name: &str) {
    if catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_err() {
        panic!("{} broke on {name}: {:?}", target.name, String::from_utf8_lossy(input));
    }
}

/// An eighth of what the server's threads have: a walk without a bound ends the process.
const STACK_BYTES: usize = 256 << 10;

fn play(kind: fn(&str) -> bool) {
    let playing = Builder::new().stack_size(STACK_BYTES).spawn(move || play_here(kind));
    playing.unwrap().join().unwrap();
}

fn play_here(kind: fn(&str) -> bool) {
    for target in TARGETS.iter().filter(|target| kind(target.name)) {
        let seeds = target.seeds();
        for (number, seed) in seeds.iter().enumerate() {
            run(target, seed, &format!("seed {number}"));
        }
        let inputs = inputs();
        let (mut longest, mut slowest) = (Duration::ZERO, 0);
        for number in 0..inputs {
            let pick = |shift: u32| &seeds[(number >> shift) as usize % seeds.len()];
            let input = mutate(pick(0), pick(3), number);
            let began = Instant::now();
            run(target, &input, &format!("change {number}"));
            if began.elapsed() > longest {
                (longest, slowest) = (began.elapsed(), number);
            }
        }
        println!(
            "{}: {inputs} changes of {} seeds; the longest took {longest:?}, change {slowest}",
            target.name,
            seeds.len()
        );
    }
}

#[test]
fn doors_survive_changed_requests() {
    play(|name| !name.starts_with("file-") && !name.starts_with("codec-"));
}

#[test]
fn blocks_survive_changed_bytes() {
    play(|name| name.starts_with("codec-"));
}

#[test]
fn files_survive_changed_bytes() {
    play(|name| name.starts_with("file-"));
}

/// Inputs that once broke a target lie in `crashes/<target>`.
#[test]
fn what_once_broke_is_mended() {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("crashes");
    for target in &TARGETS {
        let Ok(entries) = std::fs::read_dir(all.join(target.name)) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            run(target, &std::fs::read(&path).unwrap(), &path.display().to_string());
        }
    }
}

#[test]
fn a_change_follows_from_its_seed() {
    let once: Vec<_> = (0..50).map(|seed| mutate(b"put m 1 1 a=b", b"other", seed)).collect();
    let again: Vec<_> = (0..50).map(|seed| mutate(b"put m 1 1 a=b", b"other", seed)).collect();
    assert_eq!(once, again);
    assert!(once.iter().any(|changed| changed != b"put m 1 1 a=b"));
}
