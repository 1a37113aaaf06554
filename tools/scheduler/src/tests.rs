use super::*;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// Ranks are not looked at here.
const RANK: Rank = Rank::Threads;

/// Chance as a list of draws, and a clock of its own.
struct Fixed {
    seed: u64,
    now_ns: Rc<Cell<u64>>,
}

impl Fixed {
    fn draw(&mut self) -> usize {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.seed >> 33) as usize
    }
}

impl World for Fixed {
    fn now_ns(&self) -> u64 {
        self.now_ns.get()
    }

    fn advance(&mut self, ns: u64) {
        self.now_ns.set(self.now_ns.get() + ns);
    }

    fn interrupts(&mut self) -> bool {
        self.draw().is_multiple_of(2)
    }

    fn pick(&mut self, choices: usize) -> usize {
        self.draw() % choices
    }
}

/// Runs `main` in the order of `seed`; the time at the end.
fn play(seed: u64, main: impl FnOnce() + Send + 'static) -> Result<u64, Failure> {
    let now_ns = Rc::new(Cell::new(0));
    let world = Fixed { seed, now_ns: now_ns.clone() };
    run(Box::new(world), Box::new(main))?;
    Ok(now_ns.get())
}

/// All orders in which two threads with two steps each were seen to go.
fn orders(seed: u64) -> Vec<u32> {
    let seen = Arc::new(Mutex::new(RANK, Vec::new()));
    let all = seen.clone();
    let main = move || {
        let threads = [1, 2].map(|name| {
            let seen = seen.clone();
            spawn(
                "",
                Box::new(move || {
                    for _ in 0..2 {
                        seen.lock().push(name);
                    }
                }),
            )
        });
        threads.into_iter().for_each(Handle::join);
    };
    play(seed, main).unwrap();
    std::mem::take(&mut *all.lock())
}

#[test]
fn seeds_reach_every_order_and_repeat_it() {
    let all: BTreeSet<Vec<u32>> = (0..200).map(orders).collect();
    assert_eq!(all.len(), 6, "two of four places: {all:?}");
    assert!((0..20).all(|seed| orders(seed) == orders(seed)));
}

#[test]
fn a_lock_keeps_others_out_while_its_holder_is_put_aside() {
    for seed in 0..200 {
        let main = move || {
            let sum = Arc::new(Mutex::new(RANK, 0));
            let threads = [(); 3].map(|()| {
                let sum = sum.clone();
                spawn(
                    "",
                    Box::new(move || {
                        let mut sum = sum.lock();
                        let before = *sum;
                        pass();
                        *sum = before + 1;
                    }),
                )
            });
            threads.into_iter().for_each(Handle::join);
            assert_eq!(*sum.lock(), 3);
        };
        play(seed, main).unwrap();
    }
}

#[test]
fn readers_go_together_and_writers_alone() {
    let together = Arc::new(AtomicU32::new(0));
    let most = together.clone();
    for seed in 0..200 {
        let together = together.clone();
        let main = move || {
            let lock = Arc::new(RwLock::new(RANK, 0));
            let inside = Arc::new(AtomicU32::new(0));
            let threads = [true, false, false].map(|writes| {
                let (lock, inside, together) = (lock.clone(), inside.clone(), together.clone());
                spawn(
                    "",
                    Box::new(move || match writes {
                        true => {
                            let mut value = lock.write();
                            assert_eq!(inside.load(Relaxed), 0);
                            pass();
                            assert_eq!(inside.load(Relaxed), 0);
                            *value += 1;
                        }
                        false => {
                            let _value = lock.read();
                            inside.fetch_add(1, Relaxed);
                            pass();
                            together.fetch_max(inside.load(Relaxed), Relaxed);
                            inside.fetch_sub(1, Relaxed);
                        }
                    }),
                )
            });
            threads.into_iter().for_each(Handle::join);
        };
        play(seed, main).unwrap();
    }
    assert_eq!(most.load(Relaxed), 2);
}

#[test]
fn who_waits_is_woken_and_time_passes_when_nobody_is() {
    let main = || {
        let pair = Arc::new((Mutex::new(RANK, false), Condvar::new()));
        let told = pair.clone();
        let thread = spawn(
            "",
            Box::new(move || {
                sleep(Duration::from_secs(2));
                *told.0.lock() = true;
                told.1.notify_one();
            }),
        );
        let mut is_told = pair.0.lock();
        pair.1.wait_for(&mut is_told, Duration::from_secs(1));
        assert!(!*is_told);
        while !*is_told {
            pair.1.wait(&mut is_told);
        }
        drop(is_told);
        thread.join();
    };
    assert_eq!(play(1, main).unwrap(), 2_000_000_000);
}

#[test]
fn threads_that_block_each_other_are_named() {
    let failures: Vec<String> = (0..100)
        .filter_map(|seed| {
            let main = || {
                let locks = Arc::new((Mutex::new(RANK, ()), Mutex::new(RANK, ())));
                let other = locks.clone();
                let thread = spawn(
                    "other",
                    Box::new(move || {
                        let _second = other.1.lock();
                        let _first = other.0.lock();
                    }),
                );
                {
                    let _first = locks.0.lock();
                    let _second = locks.1.lock();
                }
                thread.join();
            };
            play(seed, main).err().map(|failure| failure.to_string())
        })
        .collect();
    assert!(failures.iter().any(|text| text.contains("other at") && text.contains("main at")));
}

#[test]
fn reading_twice_blocks_for_good_behind_a_writer() {
    let is_stuck = |seed| {
        let main = || {
            let lock = Arc::new(RwLock::new(RANK, ()));
            let written = lock.clone();
            let thread = spawn("writer", Box::new(move || drop(written.write())));
            {
                let _outer = lock.read();
                let _inner = lock.read();
            }
            thread.join();
        };
        matches!(play(seed, main), Err(Failure::Stuck(_)))
    };
    assert!((0..100).any(is_stuck));
}

#[test]
fn a_panic_ends_the_simulation_and_is_told() {
    let main = || {
        spawn("bad", Box::new(|| std::panic::resume_unwind(Box::new("as it should".to_owned()))))
            .join();
    };
    let failure = play(1, main).unwrap_err().to_string();
    assert_eq!(failure, "thread bad panicked: as it should");
}

#[test]
fn a_thread_that_spins_is_named_and_lets_others_go_on_until_then() {
    let has_run = Arc::new(AtomicU32::new(0));
    let told = has_run.clone();
    let main = move || {
        spawn("other", Box::new(move || told.store(1, Relaxed)));
        loop {
            pass();
        }
    };
    let failure = play(1, main).unwrap_err().to_string();
    assert_eq!((&*failure, has_run.load(Relaxed)), ("main runs in circles", 1));
}
