//! Names and data of items as anybody may have made them: each is an item or none, and what is one can be made again.

use super::dead_letter_header::DeadLetterHeader;
use super::layout::{NodeLayout, Order, free};
use crate::options::{Naming, QueueLayout};

fn layouts() -> impl Iterator<Item = NodeLayout> {
    let orders = [Order::Arrival, Order::Priority, Order::Due];
    let namings = [Naming::Curator, Naming::Kazoo, Naming::Zookeeper];
    let layouts = [QueueLayout::Simple, QueueLayout::Distributed, QueueLayout::Locking];
    let all = orders.into_iter().flat_map(move |order| namings.map(|naming| (order, naming)));
    let all = all.flat_map(move |(order, naming)| layouts.map(|layout| (order, naming, layout)));
    all.filter_map(|(order, naming, layout)| NodeLayout::new("/q", order, naming, layout).ok())
}

/// Lines, the first half of which are names of items, and the others of what stands beside them.
pub(crate) fn names(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let (names, beside) = lines.split_at(lines.len().div_ceil(2));
    for layout in layouts() {
        let sorted = layout.sort(names);
        for (one, next) in sorted.iter().zip(sorted.iter().skip(1)) {
            assert!(one <= next && (one == next || next > one), "{one:?} and {next:?}");
        }
        for name in &sorted {
            let again = layout.again(name, &layout);
            assert!(name.text.ends_with(&name.text[again.len() - layout.items.len() - 1..]), "{again}");
            let fresh = format!("{again}{:010}", 7);
            let found = layout.recognise(&fresh[layout.items.len() + 1..]);
            assert_eq!(found.map(|found| (found.key, found.sequence)), Some((name.key, 7)), "{fresh}");
        }
        let (found, strays) = free(&layout, names, beside, true);
        assert!(found.len() <= sorted.len());
        assert!(strays.len() <= 2 * beside.len(), "{strays:?}");
    }
}

/// Data of an item.
pub(crate) fn data(bytes: &[u8]) {
    for layout in layouts() {
        let (data, rest) = layout.decode(&layout.encode(bytes)).expect("it was encoded");
        assert_eq!((&*data, rest), (bytes, None));
        for layout in [layout.dead(), layout] {
            let Ok((data, mut rest)) = layout.decode(bytes) else { continue };
            assert!(data.len() <= bytes.len());
            // One item less each time, until the last.
            let mut left = bytes.len() + 1;
            while let Some(bytes) = rest {
                assert!(bytes.len() < left, "the rest grows");
                left = bytes.len();
                rest = layout.decode(&bytes).ok().and_then(|(_, rest)| rest);
            }
        }
    }
    let (header, data) = DeadLetterHeader::split(bytes);
    let joined = header.join(data);
    assert_eq!(DeadLetterHeader::split(&joined).1, data);
}
