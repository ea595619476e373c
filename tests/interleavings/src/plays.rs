//! Who plays with what, and what is promised of it.

mod connection;
mod delivery;
mod drive;
mod driving;
mod feed;
pub(crate) mod handoff;
mod inbox;
mod line;
mod waiting;

use crate::Play;

pub const ALL: &[Play] = &[
    Play {
        name: "handed-back",
        promise: "everybody has their own answer, whoever drives, and one thread at most drives at a time",
        seeds: 60_000,
        reaches: &["the I/O thread was told", "a thread drove"],
        play: driving::everybody_has_their_answer,
    },
    Play {
        name: "taken-away",
        promise: "a thread that stands still while it drives holds up nobody else, and disturbs nobody when it goes on",
        seeds: 60_000,
        reaches: &["a thread stood still", "the I/O thread was due"],
        play: driving::a_thread_that_stands_still_holds_up_nobody,
    },
    Play {
        name: "mail",
        promise: "what is asked while the lock is taken is done, once and in the order of each thread, and nobody waits to ask",
        seeds: 100_000,
        reaches: &["done by somebody else"],
        play: connection::what_is_handed_over_is_done,
    },
    Play {
        name: "called",
        promise: "the task that finds the lock taken is called when it is left",
        seeds: 100_000,
        reaches: &["found the lock taken"],
        play: connection::who_found_the_lock_taken_is_called,
    },
    Play {
        name: "seen",
        promise: "who sees a connection sees whose it is, without the lock",
        seeds: 100_000,
        reaches: &["seen up", "seen down"],
        play: connection::who_sees_a_connection_sees_whose_it_is,
    },
    Play {
        name: "begun",
        promise: "a call that is woken is polled again, by one thread at a time",
        seeds: 100_000,
        reaches: &["polled by the runtime", "woken at once"],
        play: drive::who_is_woken_is_polled_again,
    },
    Play {
        name: "unsubscribe",
        promise: "no callback is told anything after unsubscribe has returned",
        seeds: 100_000,
        reaches: &["a callback was running", "a callback was refused"],
        play: delivery::nothing_is_told_after_unsubscribe,
    },
    Play {
        name: "notices",
        promise: "each notice is told once, in order and none beside another one, and nothing is pending when all are told",
        seeds: 60_000,
        reaches: &["told by another thread than the one before"],
        play: delivery::notices_are_told_in_order,
    },
    Play {
        name: "losses",
        promise: "a loss waits for no other callback, whoever takes its wake-up",
        seeds: 60_000,
        reaches: &["told beside a notice"],
        play: delivery::a_loss_waits_for_no_callback,
    },
    Play {
        name: "withdrawn",
        promise: "who waits for a flag or a withdrawal hears of it, however late it comes",
        seeds: 100_000,
        reaches: &["waited"],
        play: delivery::who_waits_for_a_flag_hears_of_it,
    },
    Play {
        name: "feed",
        promise: "who waits at a feed that is closed is told so, and what is watched for it ends",
        seeds: 60_000,
        reaches: &["closed while it was asked"],
        play: feed::a_feed_that_is_closed_ends,
    },
    Play {
        name: "inbox",
        promise: "each outcome for an event loop of Python comes once, and the loop is woken for it",
        seeds: 60_000,
        reaches: &["taken by the loop", "handed over", "withdrawn with its outcome"],
        play: inbox::each_outcome_comes_once,
    },
    Play {
        name: "line",
        promise: "in the line of a session one holds at a time, in the order of the numbers, and everybody has a turn",
        seeds: 80_000,
        reaches: &["passed on in memory", "told by the number alone", "told to look", "waited at the server"],
        play: line::everybody_has_a_turn,
    },
    Play {
        name: "handoff",
        promise: "a turn that is passed on is taken by one, or given back",
        seeds: 80_000,
        reaches: &["passed on", "taken over"],
        play: handoff::a_turn_that_is_passed_on_is_taken_or_given_back,
    },
    Play {
        name: "queueing",
        promise: "calls queue again in their order, and none waits for one that has gone",
        seeds: 100_000,
        reaches: &["waited"],
        play: waiting::calls_queue_again_in_their_order,
    },
];
