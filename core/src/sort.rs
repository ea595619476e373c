//! Sorting of lists that are short in general, or sorted rarely. The standard library's sort is compiled for each type anew, 8 KB
//! each time. Here it sorts places in the list, and is there once.

use std::cmp::Ordering;

/// As [`slice::sort_by`].
pub(crate) fn by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let mut from = sorted(items.len(), &|one, other| compare(&items[one], &items[other]));
    // Each goes to its place along the ring of those that change places with each other.
    for first in 0..items.len() {
        let mut at = first;
        while from[at] != first {
            let next = from[at];
            items.swap(at, next);
            from[at] = at;
            at = next;
        }
        from[at] = at;
    }
}

/// As [`slice::sort_by_key`].
pub(crate) fn by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    by(items, |one, other| key(one).cmp(&key(other)));
}

/// For each place, where what comes there stood before.
fn sorted(many: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..many).collect();
    places.sort_by(|one, other| compare(*one, *other));
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_equal_stays_in_its_order() {
        let mut seed: u32 = 7;
        let mut random = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed >> 24
        };
        for many in 0..80 {
            let items: Vec<(u32, usize)> = (0..many).map(|at| (random() % 20, at)).collect();
            let (mut ours, mut expected) = (items.clone(), items);
            by_key(&mut ours, |(key, _)| *key);
            expected.sort_by_key(|(key, _)| *key);
            assert_eq!(ours, expected);
        }
    }
}
