/* Every test, once: the list is the program's table and its declarations. */

/* The first one is about a process that has not used the library yet. */

#define TESTS(X)                                          \
  X(a_child_forked_before_the_first_use_is_on_its_own)    \
  X(a_lock_is_acquired_and_released)                      \
  X(fencing_tokens_rise_from_one_acquisition_to_the_next) \
  X(a_second_handle_waits_for_its_turn)                   \
  X(a_timeout_of_zero_is_one_attempt)                     \
  X(a_timeout_leaves_nothing_behind)                      \
  X(a_reentrant_handle_counts)                            \
  X(a_held_lock_that_is_freed_is_released)                \
  X(an_acquisition_outlives_its_lock_handle)              \
  X(freeing_the_client_releases_what_it_held)             \
  X(a_second_release_is_not_held)                         \
  X(release_in_background_confirms_by_itself)             \
  X(contenders_are_listed_in_order)                       \
  X(guarded_writes_apply_only_while_held)                 \
  X(an_expired_session_is_lost_with_its_reason)           \
  X(a_deleted_node_is_lost_with_its_reason)               \
  X(readers_share_and_a_writer_excludes)                  \
  X(a_writer_may_go_on_as_a_reader)                       \
  X(the_sides_of_a_read_write_lock_go_with_it)            \
  X(a_multi_lock_takes_all_or_none)                       \
  X(bad_sets_of_locks_are_refused)                        \
  X(a_semaphore_has_so_many_permits)                      \
  X(bad_numbers_of_permits_are_refused)                   \
  X(waits_of_the_family_can_be_withdrawn)                 \
  X(a_holder_hears_that_it_is_asked_for)                  \
  X(a_holder_that_does_not_let_go_can_be_forced)          \
  X(a_sequencer_tells_whether_an_acquisition_stands)      \
  X(the_family_works_asynchronously)                      \
  X(a_turn_passed_on_inside_the_process_is_counted)       \
  X(bad_paths_are_refused_before_anything_is_sent)        \
  X(null_is_refused_by_every_verb)                        \
  X(freed_handles_are_refused_by_every_verb)              \
  X(a_handle_of_another_kind_is_refused_by_every_verb)    \
  X(every_free_takes_null_and_a_second_time)              \
  X(handles_may_be_freed_while_others_use_them)           \
  X(closed_clients_answer_closed)                         \
  X(bad_options_are_refused_and_named)                    \
  X(options_of_other_versions_are_understood)             \
  X(bad_hosts_are_refused_and_named)                      \
  X(no_server_is_connection_lost_in_time)                 \
  X(errors_have_a_code_a_message_and_a_path)              \
  X(an_error_that_stands_is_left_alone)                   \
  X(a_cancel_token_withdraws_one_call)                    \
  X(a_cancelled_token_ends_a_call_at_once)                \
  X(cancelling_a_lock_ends_its_waits)                     \
  X(freeing_a_lock_ends_its_waits)                        \
  X(async_verbs_call_back_once)                           \
  X(async_verbs_report_bad_arguments)                     \
  X(async_waits_can_be_withdrawn)                         \
  X(callbacks_run_only_on_the_dispatching_thread)         \
  X(dispatch_waits_and_counts)                            \
  X(a_blocking_verb_in_a_callback_is_a_deadlock)          \
  X(state_changes_are_told_until_unsubscribed)            \
  X(connecting_can_be_asynchronous)                       \
  X(nodes_are_created_read_written_and_deleted)           \
  X(node_errors_are_typed)                                \
  X(node_verbs_work_asynchronously)                       \
  X(a_transaction_is_all_or_nothing)                      \
  X(a_forked_child_is_told_at_once)                       \
  X(the_test_server_misbehaves_on_demand)
