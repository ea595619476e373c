//! Small models of protocols, whose steps are tried in every order.

mod double_barrier;
mod double_barrier_orders;
mod explorer;
mod partitioner;
mod partitioner_orders;
mod queue;
mod queue_orders;
mod session_line;
mod session_line_orders;
mod two_phase_commit;
mod two_phase_commit_orders;
