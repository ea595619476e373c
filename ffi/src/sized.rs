//! Structs that carry their size. The testing kit has this file too.

use zkrecipes::{Error, Result};

/// A C `bool` as it comes from outside, where any byte is possible.
#[repr(transparent)]
#[derive(Copy, Clone, Default)]
pub struct Flag(pub(crate) u8);

impl Flag {
    pub(crate) fn get(self, argument: &str) -> Result<bool> {
        match self.0 {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(Error::invalid(argument, format_args!("{other} is neither true nor false"))),
        }
    }
}

/// A struct that begins with its size.
pub(crate) trait SelfSized: Copy {
    const INIT: &'static str;
    /// Where version 0.1 ends: every caller has at least that. It never moves, however many fields are added.
    const LEAST: usize;
    /// What errors call otherwise, and its name in C.
    const NAMED_OTHERWISE: &'static [(&'static str, &'static str)] = &[];
    fn defaults() -> Self;
    /// The bytes that must be zero in this version.
    fn reserved(&self) -> Vec<u8>;
}

// Larger than any version of these structs will be: what claims more is not one of them.
const ABSURD: usize = 4096;

/// Reads a sized struct; NULL is the defaults.
pub(crate) fn read<T: SelfSized>(given: *const T) -> Result<T> {
    let mut options = T::defaults();
    if given.is_null() {
        return Ok(options);
    }
    let invalid = |problem: String| Error::invalid("options", problem);
    // SAFETY: the header asks for a struct that begins with its size and is as large as it says.
    let size = unsafe { given.cast::<usize>().read_unaligned() };
    if !(T::LEAST..=ABSURD).contains(&size) {
        return Err(invalid(format!("its size says {size}; initialise it with {}", T::INIT)));
    }
    let known = size.min(size_of::<T>());
    // SAFETY: `known` bytes are there in both; every field takes any bytes, which is why flags and choices are not
    // Rust's own bool and enum.
    let unknown = unsafe {
        std::ptr::copy_nonoverlapping(given.cast::<u8>(), (&raw mut options).cast::<u8>(), known);
        std::slice::from_raw_parts(given.cast::<u8>().add(known), size - known)
    };
    if unknown.iter().chain(&options.reserved()).any(|byte| *byte != 0) {
        return Err(invalid(format!(
            "a field is set that zkrecipes {} does not know; initialise it with {}, and build against the header of the \
             library in use",
            zkrecipes::version(),
            T::INIT
        )));
    }
    Ok(options)
}
