//! `levels` at the face: its help, and what is refused before anything is looked at.
//! Refuses to run a cell: the lifecycle ring does.

use crate::lab::TestLab;

#[test]
fn help() {
    shot!(TestLab::new().run(&["levels", "--help"]), @"");
}

#[test]
fn what_cannot_be_is_refused() {
    let lab = TestLab::new();
    shot!(lab.run(&["levels", "--cluster", "c", "--cl", "QUORUMS"]), @"");
    shot!(lab.run(&["levels", "--cluster", "c", "--rtts", "80"]), @"");
    shot!(lab.run(&["levels"]), @"");
    shot!(lab.run(&["levels", "--from", "lv-7", "--repeats", "3"]), @"");
    shot!(lab.run(&["levels", "--from", "lv-7"]), @"");
    shot!(lab.run(&["levels", "--cluster", "c"]), @"");
}
