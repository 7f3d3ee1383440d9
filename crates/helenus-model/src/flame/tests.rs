//! Stacks as a profiler writes them, merged, counted and cut.
//! Refuses a real profile: a few lines show each law.

use super::*;

const TEXT: &str = "\
java.lang.Thread.run_[0];org.apache.cassandra.db.Read.run_[1];org.apache.cassandra.db.Read.get_[i] 3
java.lang.Thread.run_[j];org.apache.cassandra.db.Read.run_[j] 2
java.lang.Thread.run_[j];org.apache.cassandra.db.Read.run_[j];org.apache.cassandra.db.Read.run_[j] 1
start_thread;do_syscall_64_[k];schedule_[k] 4
";

#[test]
fn stacks_are_merged_whatever_compiled_them() {
    let stacks = Stacks::parse(TEXT).expect("a profile");
    assert_eq!(stacks.total(), 10);
    insta::assert_snapshot!(stacks.collapsed(), @"
    java.lang.Thread.run_[j];org.apache.cassandra.db.Read.run_[j] 2
    java.lang.Thread.run_[j];org.apache.cassandra.db.Read.run_[j];org.apache.cassandra.db.Read.get_[j] 3
    java.lang.Thread.run_[j];org.apache.cassandra.db.Read.run_[j];org.apache.cassandra.db.Read.run_[j] 1
    start_thread;do_syscall_64_[k];schedule_[k] 4
    ");
    let again = Stacks::parse(&stacks.collapsed()).expect("its own text");
    assert_eq!(again.collapsed(), stacks.collapsed());
}

#[test]
fn two_profiles_are_added_path_by_path() {
    let mut stacks = Stacks::parse(TEXT).expect("a profile");
    stacks.merge(
        &Stacks::parse("start_thread;do_syscall_64_[k];schedule_[k] 6\nmain 1\n").expect("another"),
    );
    assert_eq!(stacks.total(), 17);
    assert!(
        stacks
            .collapsed()
            .contains("do_syscall_64_[k];schedule_[k] 10\n")
    );
    let none = Stacks::default();
    let before = stacks.clone();
    stacks.merge(&none);
    assert_eq!(stacks, before);
}

#[test]
fn the_top_counts_a_frame_that_calls_itself_once() {
    let top = Stacks::parse(TEXT).expect("a profile").top(3);
    let seen: Vec<_> = top
        .iter()
        .map(|f| (f.frame.as_str(), f.own, f.total))
        .collect();
    assert_eq!(
        seen,
        [
            ("schedule", 4, 4),
            ("org.apache.cassandra.db.Read.get", 3, 3),
            ("org.apache.cassandra.db.Read.run", 3, 6),
        ]
    );
    assert!((top[2].total_share - 0.6).abs() < 1e-9);
    assert_eq!(Stacks::default().top(3), []);
}

#[test]
fn the_tree_leaves_out_what_is_too_light() {
    let stacks = Stacks::parse(TEXT).expect("a profile");
    let tree = stacks.tree(1);
    assert_eq!(tree.len(), 2);
    assert_eq!(
        (tree[0].frame, tree[0].total, tree[0].own),
        ("java.lang.Thread.run_[j]", 6, 0)
    );
    assert_eq!(tree[0].calls[0].calls.len(), 2);
    assert_eq!(stacks.tree(3)[0].calls[0].calls.len(), 1);
    // Three roots' worth of 6, 6, 4, 4, 4, 3, 1.
    assert_eq!((stacks.least_for(5), stacks.least_for(100)), (4, 1));
}

#[test]
fn what_is_no_stack_is_named_by_its_line() {
    for text in ["a;b 1\nno count\n", "a;b 1\na;b x\n", "a;b 1\n 7\n"] {
        assert_eq!(
            Stacks::parse(text),
            Err(StacksError { line: 2 }),
            "{text:?}"
        );
    }
    assert!(Stacks::parse("").is_ok_and(|none| none.is_empty()));
}

#[test]
fn names_of_hidden_classes_are_those_of_the_next_start() {
    let of = |name: &str| plain(name);
    assert_eq!(
        of("a.B$$Lambda$1477.0x00007f34fb62fce0.run_[1]"),
        "a.B$$Lambda.run_[j]"
    );
    assert_eq!(
        of("a.B$$Lambda.0x00007f34fb62fce0.run_[i]"),
        "a.B$$Lambda.run_[j]"
    );
    assert_eq!(of("a.B$1.run_[0]"), "a.B$1.run_[j]");
    assert_eq!(of("do_syscall_64_[k]"), "do_syscall_64_[k]");
    assert_eq!(of("Parker::park"), "Parker::park");
}

#[test]
fn whose_code_a_frame_is() {
    let kinds = [
        "org.apache.cassandra.db.A.b_[j]",
        "io.netty.A.b_[j]",
        "Parker::park",
        "schedule_[k]",
    ]
    .map(kind_of);
    use FrameKind as K;
    assert_eq!(kinds, [K::Cassandra, K::Java, K::Native, K::Kernel]);
    assert_eq!(bare("schedule_[k]"), "schedule");
}

#[test]
fn a_stored_tree_that_is_not_ours_does_no_harm() {
    let stacks: Stacks =
        serde_json::from_str(r#"{"frames":["a"],"paths":[[7,9,2],[1,0,3]]}"#).expect("its shape");
    assert_eq!(stacks.total(), 5);
    assert_eq!(stacks.tree(1).len(), 0);
    let _no_panic = (stacks.top(5), stacks.collapsed(), stacks.least_for(1));
}
