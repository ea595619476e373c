//! What the pages of all commands have in common.

/// How a command that runs another one is called.
pub(crate) const RUNNING: &str = "zkrecipes VERB [OPTIONS] <PATH> [--] <COMMAND>...";

/// The end of every page.
macro_rules! examples {
    ($examples:expr) => {
        concat!(
            "EXAMPLES\n  ",
            $examples,
            "

TIME is a number with ms, s, m, h or d, or a number of seconds.

EXIT STATUS
  0   done                        74  the output could not be written
  1   nobody or nothing there     75  not acquired (see lock)
  2   the command line is wrong   76  lost: the lock was gone before the
  69  no server answers               command had ended
  70  any other error             77  denied, or wrong credentials
                                  128 + N  ended by signal N"
        )
    };
}
pub(crate) use examples;
