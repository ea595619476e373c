//! What the node of a [latch](crate::recipes::latch) says, which is changed as a counter is: how many are left, and how often
//! nothing was.

use std::fmt;

/// The most that can be left. It is opened so often before that begins at 0 again.
pub(in crate::recipes) const MOST: u32 = i32::MAX as u32;

/// With it, no counter takes the data for its own.
const WORD: &str = "latch ";

/// What the node says.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(in crate::recipes) struct LatchValue {
    pub(in crate::recipes) remaining: u32,
    /// How often nothing was left.
    pub(in crate::recipes) opened: u32,
}

impl LatchValue {
    pub(in crate::recipes) fn first(count: u32) -> LatchValue {
        LatchValue { remaining: count, opened: 0 }
    }

    /// As the value of a counter.
    pub(in crate::recipes) fn packed(self) -> i64 {
        i64::from(self.opened) << 32 | i64::from(self.remaining)
    }

    pub(in crate::recipes) fn of(value: i64) -> LatchValue {
        LatchValue { remaining: value as u32 & MOST, opened: (value >> 32) as u32 & MOST }
    }

    pub(in crate::recipes) fn parse(data: &[u8]) -> Option<LatchValue> {
        let (remaining, opened) =
            std::str::from_utf8(data).ok()?.trim().strip_prefix(WORD)?.split_once(' ')?;
        let number = |digits: &str| digits.parse().ok().filter(|number| *number <= MOST);
        Some(LatchValue { remaining: number(remaining)?, opened: number(opened)? })
    }

    pub(in crate::recipes) fn counted_down(self, n: u32) -> LatchValue {
        self.with(self.remaining.saturating_sub(n))
    }

    pub(in crate::recipes) fn with(self, remaining: u32) -> LatchValue {
        let opens = self.remaining > 0 && remaining == 0;
        LatchValue { remaining, opened: self.opened.wrapping_add(opens.into()) & MOST }
    }
}

impl fmt::Display for LatchValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{WORD}{} {}", self.remaining, self.opened)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_how_often_it_was_opened() {
        let latch = LatchValue::first(3);
        assert_eq!(latch.counted_down(2), LatchValue { remaining: 1, opened: 0 });
        let open = latch.counted_down(5);
        assert_eq!(open, LatchValue { remaining: 0, opened: 1 });
        assert_eq!(open.counted_down(1), open);
        assert_eq!(open.with(7).with(0), LatchValue { remaining: 0, opened: 2 });
        assert_eq!(LatchValue { remaining: 1, opened: MOST }.with(0).opened, 0);
    }

    #[test]
    fn what_was_written_is_read() {
        for latch in [LatchValue::first(0), LatchValue { remaining: MOST, opened: MOST }] {
            assert_eq!(LatchValue::of(latch.packed()), latch);
            assert_eq!(LatchValue::parse(latch.to_string().as_bytes()), Some(latch));
        }
        for data in ["3 0", "latch 3", "latch 3 x", "latch -1 0", "latch 3 0 0", "latch 2147483648 0"] {
            assert_eq!(LatchValue::parse(data.as_bytes()), None, "{data}");
        }
    }
}
