//! Bodies: what unpacks, what is refused, and who finds room.

use super::*;
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

fn unpack(encoding: Encoding, limit: u64, packed: &[u8]) -> Result<Vec<u8>, StatusCode> {
    let budget = Budget::new(128 << 20);
    let most = Most::of(limit, &budget);
    let mut sink = Sink::new(encoding, Bounded::new(Vec::new(), most, true, &budget));
    for byte in packed {
        sink.unpack(&[*byte]).map_err(|error| refusal(&error, most).status)?;
    }
    finish(sink).map(Text::into_bytes).map_err(|reply| reply.status)
}

fn finish(sink: Sink) -> Result<Text, Reply> {
    sink.finish((&Spares::new(u64::MAX), &Spares::new(u64::MAX)))
}

#[test]
fn all_spellings_of_compression_are_read() {
    let text = b"put m 1 2 h=a\n".repeat(100);
    let fast = Compression::fast;
    let mut gzip = GzEncoder::new(Vec::new(), fast());
    gzip.write_all(&text).unwrap();
    let gzip = gzip.finish().unwrap();
    assert_eq!(unpack(Encoding::Gzip, 9999, &gzip).unwrap(), text);
    let twice = [gzip.clone(), gzip.clone()].concat();
    assert_eq!(unpack(Encoding::Gzip, 9999, &twice).unwrap().len(), 2 * text.len());
    let mut zlib = ZlibEncoder::new(Vec::new(), fast());
    zlib.write_all(&text).unwrap();
    assert_eq!(unpack(Encoding::Deflate, 9999, &zlib.finish().unwrap()).unwrap(), text);
    let mut raw = DeflateEncoder::new(Vec::new(), fast());
    raw.write_all(&text).unwrap();
    assert_eq!(unpack(Encoding::Deflate, 9999, &raw.finish().unwrap()).unwrap(), text);
    assert_eq!(unpack(Encoding::Identity, 9999, &text).unwrap(), text);
}

/// Memory with the bytes of others in it shows none of them, whether the next body is longer,
/// shorter, or says less than its length.
#[test]
fn what_lies_in_memory_for_blocks_is_written_over() {
    let (budget, spares) = (Budget::new(1 << 20), Spares::new(u64::MAX));
    let most = Most::of(1 << 19, &budget);
    let unsnap = |packed: &[u8]| {
        let mut sink = Sink::new(Encoding::Snappy, Bounded::new(Vec::new(), most, true, &budget));
        sink.unpack(packed).unwrap();
        sink.finish((&Spares::new(u64::MAX), &spares)).map_err(|reply| reply.status)
    };
    for (length, before) in [(50, 10), (0, 10), (3, 2), (400, 401), (300_000, 100), (7, 9000)] {
        let text: Vec<u8> = (0..length).map(|at| (at % 7) as u8).collect();
        let packed = snap::raw::Encoder::new().compress_vec(&text).unwrap();
        spares.give_filled(vec![b'!'; before]);
        let found = unsnap(&packed).unwrap();
        assert!(spares.take().is_empty(), "the memory was taken");
        assert!(found.bytes == text, "{length}");
        let held = found.permits.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        assert!(held * PERMIT_BYTES >= found.bytes.capacity(), "{length}");
    }
    // It says that it is 9 bytes long, and has 2.
    spares.give_filled(vec![b'!'; 600]);
    assert_eq!(unsnap(b"\x09\x04ab").err(), Some(StatusCode::BAD_REQUEST));
}

fn noise(bytes: usize) -> Vec<u8> {
    let mut noise = vec![0u8; bytes];
    noise.iter_mut().fold(1u32, |seed, byte| {
        let seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = (seed >> 24) as u8;
        seed
    });
    noise
}

#[test]
fn bombs_and_damage_are_refused() {
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    bomb.write_all(&vec![0; 10 << 20]).unwrap();
    let bomb = bomb.finish().unwrap();
    assert!(bomb.len() < 20_000);
    let too_large = StatusCode::PAYLOAD_TOO_LARGE;
    assert_eq!(unpack(Encoding::Gzip, 1 << 20, &bomb), Err(too_large));
    let bad = StatusCode::BAD_REQUEST;
    assert_eq!(unpack(Encoding::Gzip, 1 << 20, b"not gzip at all"), Err(bad));
    assert_eq!(unpack(Encoding::Gzip, 99 << 20, &bomb[..bomb.len() / 2]), Err(bad));
    assert_eq!(unpack(Encoding::Identity, 3, b"abcd"), Err(too_large));
}

#[test]
fn bytes_are_charged_before_they_grow_and_given_back() {
    let budget = Budget::new(1 << 20);
    let most = Most::of(10 << 20, &budget);
    let mut out = Bounded::new(Vec::new(), most, true, &budget);
    out.write_all(&[0; 600 << 10]).unwrap();
    let left = budget.free.available_permits() * PERMIT_BYTES;
    assert!(left + out.text.bytes.capacity() <= 1 << 20, "{left}");
    let mut line = None;
    assert!(budget.hold(&mut line, 600 << 10).is_none());
    drop(out);
    assert!(budget.hold(&mut line, 600 << 10).is_some());
    assert!(budget.hold(&mut line, 100).is_some(), "less than a page is for free");
    assert_eq!(budget.free.available_permits() * PERMIT_BYTES, 1 << 20);
}

fn bomb(bytes: usize) -> Vec<u8> {
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    bomb.write_all(&vec![0; bytes]).unwrap();
    bomb.finish().unwrap()
}

#[test]
fn what_never_finds_room_is_too_large_before_it_unpacks() {
    let budget = Budget::new(1 << 20);
    let most = Most::of(1 << 30, &budget);
    let mut sink = Sink::new(Encoding::Gzip, Bounded::new(Vec::new(), most, true, &budget));
    let error = sink.unpack(&bomb(64 << 20)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    assert!(sink.bounded().text.bytes.capacity() <= 1 << 20);
    assert_eq!(most.limit.name(), "limits.pending_body_bytes");
}

#[test]
fn a_bomb_is_known_as_one_while_others_have_the_memory() {
    let budget = Budget::new(1 << 20);
    let others = budget.free.clone().try_acquire_many_owned(200).unwrap();
    let most = Most::of(1 << 20, &budget);
    let told = |packed: &[u8]| {
        let may_wait = most.fits_unpacked(packed.len() as u64);
        let bounded = Bounded::new(Vec::new(), most, may_wait, &budget);
        let mut sink = Sink::new(Encoding::Gzip, bounded);
        let unpacked = sink.unpack(packed).map_err(|error| refusal(&error, most).status);
        let held = sink.bounded().text.bytes.capacity();
        (unpacked.err().or_else(|| finish(sink).err().map(|reply| reply.status)), held)
    };
    // It gave back what it had before it was over, and waited for nothing.
    assert_eq!(told(&bomb(64 << 20)), (Some(StatusCode::PAYLOAD_TOO_LARGE), 0));
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&noise(900 << 10)).unwrap();
    let packed = packed.finish().unwrap();
    assert_eq!(told(&packed), (Some(StatusCode::SERVICE_UNAVAILABLE), 0));
    drop(others);
    assert_eq!(told(&packed).0, None);
    assert_eq!(told(&bomb(1 << 20)).0, None);
}

/// What is charged is what is there, also where there is no room to double it.
#[test]
fn a_body_grows_by_what_it_needs_where_there_is_no_room_for_more() {
    let budget = Budget::new(1 << 20);
    let most = Most::of(1 << 20, &budget);
    let _others = budget.free.clone().try_acquire_many_owned(64).unwrap();
    let mut out = Bounded::new(Vec::new(), most, false, &budget);
    for _ in 0..12 {
        out.write_all(&[0; 64 << 10]).unwrap();
    }
    assert_eq!((out.counted, out.text.bytes.len()), (None, 768 << 10));
    let held = out.text.permits.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
    assert!(held * PERMIT_BYTES >= out.text.bytes.capacity());
}

/// Each has half of the memory and wants more, and none of them goes when it is refused.
#[tokio::test(start_paused = true)]
async fn of_two_bodies_that_wait_for_each_other_one_finds_room() {
    let budget = Budget::new(1 << 20);
    let most = Most::of(1 << 20, &budget);
    let body = || Bounded::new(Vec::new(), most, true, &budget);
    let (mut first, mut second) = (body(), body());
    first.write_all(&[0; 512 << 10]).unwrap();
    second.write_all(&[0; 512 << 10]).unwrap();
    let (first, second) =
        tokio::join!(first.wait_for_room(256 << 10), second.wait_for_room(256 << 10));
    let found = [&first, &second].iter().filter(|found| found.is_ok()).count();
    assert_eq!(found, 1, "{first:?} {second:?}");
    let kind = first.and(second).unwrap_err().kind();
    let reply = refusal(&kind.into(), most);
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
}

/// The same where what may be a bomb does not wait: on two threads, at the same moment.
#[test]
fn of_two_bodies_that_do_not_wait_one_finds_room() {
    let budget = Budget::new(16 << 20);
    let most = Most::of(16 << 20, &budget);
    let at_once = std::sync::Barrier::new(2);
    for round in 0..100 {
        let grow = || {
            let mut out = Bounded::new(Vec::new(), most, false, &budget);
            out.write_all(&vec![0; 8 << 20]).unwrap();
            at_once.wait();
            out.write_all(&[0; 4 << 20]).unwrap();
            let is_there = out.counted.is_none();
            at_once.wait();
            is_there
        };
        let found = std::thread::scope(|scope| {
            let other = scope.spawn(grow);
            [grow(), other.join().unwrap()]
        });
        assert!(found.contains(&true), "{round}: both were refused");
    }
}

/// Two blocks whose packed bytes leave no room for what either of them comes to.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn of_two_blocks_that_wait_for_each_other_one_is_unpacked() {
    let budget = Arc::new(Budget::new(1 << 20));
    let most = Most::of(1 << 20, &budget);
    let text = noise(400 << 10);
    let packed = snap::raw::Encoder::new().compress_vec(&text).unwrap();
    let sinks = [(); 2].map(|()| {
        let mut sink = Sink::new(Encoding::Snappy, Bounded::new(Vec::new(), most, true, &budget));
        sink.unpack(&packed).unwrap();
        sink
    });
    let tasks = sinks.map(|sink| tokio::spawn(async { finish(sink) }));
    let mut statuses = Vec::new();
    for task in tasks {
        match task.await.unwrap() {
            Ok(found) => {
                assert!(found.bytes == text);
                statuses.push(StatusCode::OK);
            }
            Err(reply) => statuses.push(reply.status),
        }
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [StatusCode::OK, StatusCode::SERVICE_UNAVAILABLE]);
    assert_eq!(budget.used().0, 0);
}
