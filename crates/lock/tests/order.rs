//! Locks out of order are found where they are taken, by one thread and without any waiting.

#![cfg(debug_assertions)]
#![allow(clippy::unwrap_used, reason = "tests")]

use foliot_lock::{Condvar, Mutex, MutexGuard, Rank, RwLock};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

fn panics(f: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(f)).is_err()
}

#[test]
fn locks_are_taken_from_top_to_bottom() {
    let files = Mutex::new(Rank::Files, ());
    let names = RwLock::new(Rank::Names, ());
    let queue = Mutex::new(Rank::WalQueue, ());
    let files_held = files.lock();
    let names_held = names.read();
    drop(files_held);
    let queue_held = queue.lock();
    assert!(panics(|| drop(files.lock())), "above one that is held");
    drop(names_held);
    drop(queue_held);
    drop(files.lock());
}

#[test]
fn a_lock_is_not_taken_again_by_its_holder() {
    let names = RwLock::new(Rank::Names, ());
    let held = names.read();
    assert!(panics(|| drop(names.read())), "two shares deadlock when a writer waits in between");
    assert!(panics(|| drop(names.write())));
    drop(held);
    drop(names.write());
    let page = Mutex::new(Rank::Page, 1);
    let held = page.lock();
    assert!(panics(|| drop(page.lock())));
    assert!(page.try_lock().is_none());
    drop(held);
    assert_eq!(*page.lock(), 1);
}

#[test]
fn numbered_locks_of_one_rank_are_taken_by_number() {
    let newer = RwLock::numbered(Rank::Names, 7, ());
    let older = RwLock::numbered(Rank::Names, 8, ());
    let held = newer.read();
    drop(older.read());
    drop(held);
    let held = older.read();
    assert!(panics(|| drop(newer.read())));
    drop(held);
}

#[test]
fn what_is_asked_for_without_waiting_may_stand_anywhere_and_is_held() {
    let file = Mutex::new(Rank::WalFile, ());
    let queue = Mutex::new(Rank::WalQueue, ());
    let handles = Mutex::new(Rank::Handles, ());
    let queue_held = queue.lock();
    let file_held = file.try_lock().unwrap();
    drop(queue_held);
    assert!(panics(|| drop(file.lock())));
    drop(handles.lock());
    drop(file_held);
    drop(file.lock());
}

#[test]
fn narrowed_guards_hold_and_give_back() {
    let page = Mutex::new(Rank::Page, (Some(1), 2));
    let part = MutexGuard::map(page.lock(), |(_, second)| second);
    assert!(panics(|| drop(page.lock())));
    assert_eq!(*part, 2);
    drop(part);
    let mut part = MutexGuard::try_map(page.lock(), |(first, _)| first.as_mut()).unwrap();
    *part = 3;
    drop(part);
    assert!(
        MutexGuard::try_map(page.lock(), |(first, _)| first.as_mut().filter(|n| **n > 3)).is_err()
    );
    assert_eq!(page.lock().0, Some(3));
}

#[test]
fn a_wait_gives_the_lock_up_and_has_it_again() {
    let (order, sign) = (Mutex::new(Rank::Orders, false), Condvar::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            *order.lock() = true;
            sign.notify_all();
        });
        let mut held = order.lock();
        while !*held {
            sign.wait_for(&mut held, Duration::from_secs(1));
        }
        assert!(panics(|| drop(order.lock())));
    });
    assert!(*order.lock());
}

#[test]
fn a_thread_that_ends_may_lock_while_its_own_things_go() {
    struct Last(Mutex<u32>);
    impl Drop for Last {
        fn drop(&mut self) {
            *self.0.lock() += 1;
        }
    }
    thread_local! {
        static LAST: Last = const { Last(Mutex::new(Rank::Orders, 0)) };
    }
    // Made before the first lock, so that it goes after what the checker remembers.
    let thread = std::thread::spawn(|| LAST.with(|last| *last.0.lock()));
    assert_eq!(thread.join().unwrap(), 0);
}
