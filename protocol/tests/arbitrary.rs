//! Whatever bytes come, reading them is a value or `Malformed`; what was read can be written, and is read again as the same;
//! and none of it takes more memory than the bytes that are there are worth.
//!
//! `ZKRECIPES_CASES` says how many frames each test tries, `ZKRECIPES_SEED` where it begins.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use support::{Random, cases, ops, reply_frame, request_frame, seed};
use zkrecipes_protocol::{
    Event, Hello, Op, Reader, Reply, ReplyHead, RequestHead, Welcome, Writer, event_path, frame_at,
    frame_length, is_word, parse_request,
};

const DEFAULT: u64 = 300_000;
/// What the server takes at most, unless it is told otherwise.
const LIMIT: usize = 1 << 20;

/// Counts what each thread has, and the most that it ever had.
struct Counting;

thread_local! {
    static NOW: Cell<usize> = const { Cell::new(0) };
    static MOST: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        NOW.set(NOW.get().wrapping_add(layout.size()));
        MOST.set(MOST.get().max(NOW.get()));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, bytes: *mut u8, layout: Layout) {
        NOW.set(NOW.get().wrapping_sub(layout.size()));
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(bytes, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// How much was taken on top while `what` ran.
fn taken_by(what: impl FnOnce()) -> usize {
    let before = NOW.get();
    MOST.set(before);
    what();
    MOST.get() - before
}

/// The largest value for its bytes is a result of a multi: nine bytes of a head become 96 bytes. In a vector that has just grown
/// to twice its size, while the old one is still there, that is 32 for a byte.
const MOST_FOR_A_BYTE: usize = 33;

/// What bytes are taken for.
#[derive(Debug, Clone, Copy)]
enum As {
    Request,
    /// To this request.
    Reply(Op),
    Event,
    Hello,
    Welcome,
}

/// Whether there may be a text in it that lies beyond the basic plane, and comes back in another form.
fn is_beyond(bytes: &[u8]) -> bool {
    String::from_utf8_lossy(bytes).chars().any(|c| c > '\u{ffff}')
}

/// Reads the frame, without its length, and asks that what was read can be written and read again.
fn read(bytes: &[u8], kind: As) {
    match kind {
        As::Request => {
            let Ok((head, body)) = RequestHead::split(bytes) else { return };
            let Ok(request) = parse_request(head.op, body) else { return };
            let paths = request.paths().len();
            let frame = request_frame(head.xid, &request);
            let (again, body) = RequestHead::split(&frame[4..]).expect("it was written");
            let again = parse_request(again.op, body).expect("it was written");
            assert!(again == request || is_beyond(bytes), "{request:?}");
            assert_eq!(again.paths().len(), paths);
        }
        As::Reply(op) => {
            let mut r = Reader::new(bytes);
            let Ok(head) = ReplyHead::read(&mut r) else { return };
            let Ok(reply) = Reply::read(op, &mut r) else { return };
            let frame = reply_frame(head.xid, head.zxid, head.err, &reply);
            assert_eq!(ReplyHead::of(&frame), Some(head));
            let again = Reply::read(op, &mut Reader::new(&frame[20..])).expect("it was written");
            assert!(again == reply || is_beyond(bytes), "{reply:?}");
        }
        As::Event => {
            let mut r = Reader::new(bytes);
            let Ok(head) = ReplyHead::read(&mut r) else { return };
            let Ok(event) = Event::read(&mut r) else { return };
            let Some(kind) = event.kind else { return };
            let again = event_path(&Event::frame(kind, &event.path, head.zxid));
            assert!(again == event.path || is_beyond(bytes), "{event:?}");
        }
        As::Hello => {
            let Ok(hello) = Hello::read(bytes) else { return };
            assert_eq!(Hello::read(&hello.frame()[4..]), Ok(hello));
        }
        As::Welcome => {
            let Ok(welcome) = Welcome::read(bytes) else { return };
            assert_eq!(Welcome::read(&welcome.frame()[4..]), Ok(welcome));
        }
    }
}

/// The same without writing, and measured.
fn measured(bytes: &[u8], kind: As) -> usize {
    let taken = taken_by(|| match kind {
        As::Request => _ = RequestHead::split(bytes).map(|(head, body)| parse_request(head.op, body)),
        As::Reply(op) => _ = Reply::read(op, &mut Reader::new(bytes.get(16..).unwrap_or_default())),
        As::Event => _ = Event::read(&mut Reader::new(bytes.get(16..).unwrap_or_default())),
        As::Hello => _ = Hello::read(bytes),
        As::Welcome => _ = Welcome::read(bytes),
    });
    // A vector begins with four items.
    assert!(taken <= 512 + MOST_FOR_A_BYTE * bytes.len(), "{} bytes took {taken} as {kind:?}", bytes.len());
    taken
}

fn any_kind(random: &mut Random, ops: &[Op]) -> As {
    match random.below(16) {
        0 => As::Event,
        1 => As::Hello,
        2 => As::Welcome,
        n if n < 9 => As::Request,
        _ => As::Reply(random.one_of(ops)),
    }
}

/// A frame as it should be, without its length, and what it is.
fn valid(random: &mut Random, ops: &[Op]) -> (Vec<u8>, As) {
    let kind = any_kind(random, ops);
    let frame = match kind {
        As::Request => request_frame(random.int(), &random.request()),
        As::Reply(op) => reply_frame(random.int(), random.long(), random.int(), &random.reply(op)),
        As::Event => {
            let (kind, path, zxid) = random.event();
            Event::frame(kind, &path, zxid)
        }
        As::Hello => random.hello().frame(),
        As::Welcome => random.welcome().frame(),
    };
    (frame[4..].to_vec(), kind)
}

/// What becomes of bytes on a bad way.
fn change(bytes: &mut Vec<u8>, random: &mut Random, ops: &[Op]) {
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len().max(1));
        match random.below(7) {
            0 => bytes.truncate(at),
            1 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            2 if !bytes.is_empty() => bytes[at] = random.next() as u8,
            // Where a length or a count may stand.
            3 => {
                let number = random.one_of(&[-1, -2, i32::MIN, i32::MAX, 1 << 24, 1 << 16, 4, 1, 0]);
                let place = bytes.iter_mut().skip(at & !3).take(4);
                place.zip(number.to_be_bytes()).for_each(|(old, new)| *old = new);
            }
            4 => (0..random.below(40)).for_each(|_| bytes.push(random.next() as u8)),
            5 => {
                let other = valid(random, ops).0;
                bytes.splice(at..at.min(bytes.len()), other);
            }
            _ => {
                let copy = bytes[at.min(bytes.len())..].to_vec();
                bytes.extend(copy);
            }
        }
        bytes.truncate(4096);
    }
}

#[test]
fn arbitrary_bytes_are_a_value_or_malformed() {
    let (mut random, ops, mut most) = (Random(seed()), ops(), 0);
    for _ in 0..cases(DEFAULT) {
        // Small numbers are lengths, counts and opcodes that may be right.
        let small = random.below(4);
        let byte = |random: &mut Random| match random.below(4) < small {
            true => 0,
            false => random.below(300).min(255) as u8,
        };
        let bytes: Vec<u8> = (0..random.below(120)).map(|_| byte(&mut random)).collect();
        let kind = any_kind(&mut random, &ops);
        read(&bytes, kind);
        most = most.max(measured(&bytes, kind));
    }
    println!("at most {most} bytes were taken for one frame");
}

#[test]
fn a_frame_that_was_changed_is_a_value_or_malformed() {
    let (mut random, ops, mut most) = (Random(seed()), ops(), 0);
    for _ in 0..cases(DEFAULT) {
        let (mut bytes, kind) = valid(&mut random, &ops);
        change(&mut bytes, &mut random, &ops);
        read(&bytes, kind);
        let other = any_kind(&mut random, &ops);
        read(&bytes, other);
        most = most.max(measured(&bytes, kind)).max(measured(&bytes, other));
    }
    println!("at most {most} bytes were taken for one frame");
}

/// What a connection brings is cut into frames, whatever it is.
#[test]
fn a_stream_ends_at_a_frame_or_is_refused() {
    let (mut random, ops) = (Random(seed()), ops());
    for _ in 0..cases(DEFAULT) / 10 {
        let mut stream = Vec::new();
        for _ in 0..random.below(5) {
            let (bytes, _) = valid(&mut random, &ops);
            stream.extend((bytes.len() as i32).to_be_bytes());
            stream.extend(bytes);
        }
        change(&mut stream, &mut random, &ops);
        let mut rest = &stream[..];
        loop {
            let found = frame_at(rest, LIMIT);
            let prefix = rest.first_chunk::<4>();
            _ = prefix.is_some_and(|prefix| is_word(*prefix));
            match (found, prefix) {
                (Ok(Some((frame, taken))), Some(prefix)) => {
                    assert_eq!((frame_length(*prefix, LIMIT), taken), (Ok(frame.len()), 4 + frame.len()));
                    assert!(frame.len() < LIMIT);
                    rest = &rest[taken..];
                }
                (Ok(None), prefix) => {
                    // More may come, and then it is whole.
                    assert!(prefix.is_none_or(|prefix| frame_length(*prefix, LIMIT).is_ok()));
                    break;
                }
                (Err(_), prefix) => {
                    assert!(frame_length(*prefix.expect("there is a length"), LIMIT).is_err());
                    break;
                }
                (Ok(Some(_)), None) => panic!("a frame without a length"),
            }
        }
    }
}

#[test]
fn a_count_or_a_length_that_is_a_lie_is_not_allocated_for() {
    for lie in [i32::MAX, 1 << 24, -2, i32::MIN] {
        let mut w = Writer::frame();
        w.int(lie).long(0).long(0);
        let lie = w.finish().split_off(4);
        for op in ops() {
            let taken = taken_by(|| {
                _ = Reply::read(op, &mut Reader::new(&lie));
                _ = parse_request(op, &lie);
                _ = (Hello::read(&lie), Welcome::read(&lie), Event::read(&mut Reader::new(&lie)));
            });
            assert_eq!(taken, 0, "{op:?}");
        }
    }
}

/// Large frames of the smallest values, one more than a vector has room for before it grows: this much and no more.
#[test]
fn what_a_large_frame_takes_is_measured() {
    let (few, many) = ((1 << 16) + 1, (1 << 17) + 1);
    let (checked, end) = (b"\0\0\0\x0d\0\0\0\0\0", b"\xff\xff\xff\xff\x01\xff\xff\xff\xff");
    let multi = [&checked.repeat(few)[..], end].concat();
    let names = [&(many as i32).to_be_bytes()[..], &vec![0; 4 * many]].concat();
    for (what, op, bytes) in [("results", Op::MULTI, &multi), ("names", Op::GET_CHILDREN, &names)] {
        let frame = [&[0; 16][..], bytes].concat();
        let mut is_read = false;
        let taken = taken_by(|| is_read = Reply::read(op, &mut Reader::new(&frame[16..])).is_ok());
        assert!(is_read, "{what}");
        println!(
            "{} bytes of {what} take {taken}: {:.1} each",
            frame.len(),
            taken as f64 / frame.len() as f64
        );
        assert!(taken <= MOST_FOR_A_BYTE * frame.len());
    }
}
