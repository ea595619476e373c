//! One of the core's targets under libFuzzer: the one that `ZKR_FUZZ` names.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use zkrecipes::fuzzing::TARGETS;

static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("ZKR_FUZZ").unwrap_or_default();
    let target = TARGETS.iter().find(|(one, _)| *one == name).map(|(_, target)| *target);
    target.unwrap_or_else(|| {
        panic!("ZKR_FUZZ={name} is none of {:?}", TARGETS.iter().map(|(one, _)| *one).collect::<Vec<_>>())
    })
});

fuzz_target!(|bytes: &[u8]| TARGET(bytes));
