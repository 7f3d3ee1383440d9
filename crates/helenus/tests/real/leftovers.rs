//! What is left after a violent end: nothing that `rm --all` does not remove.

use crate::home::Home;
use std::time::{Duration, Instant};

/// Ten moments over `span`, spread evenly and shaken by a fixed sequence, so that a failure repeats.
fn moments(span: Duration) -> impl Iterator<Item = Duration> {
    (0..10_u32).map(move |k| {
        let shaken = f64::from(k) + f64::from(k * 7919 % 100) / 100.0;
        span.mul_f64(shaken / 10.0)
    })
}

fn kill_9_at_ten_moments(span: Duration, words: &[&str]) {
    let home = Home::new();
    for moment in moments(span) {
        let mut helenus = home.start(words);
        let begin = Instant::now();
        while begin.elapsed() < moment && helenus.try_wait().expect("a child").is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
        helenus.kill().expect("SIGKILL");
        helenus.wait().expect("it ends");
        home.clear();
    }
}

pub(crate) fn kill_9_at_ten_moments_of_up() {
    kill_9_at_ten_moments(Duration::from_secs(5), &["up", "c", "-n", "2"]);
}

pub(crate) fn kill_9_at_ten_moments_of_bench() {
    let words = [
        "bench",
        "--preset",
        "tiny",
        "--rate",
        "200",
        "--duration",
        "2s",
        "--warmup",
        "0s",
        "--phases",
        "write,read",
    ];
    kill_9_at_ten_moments(Duration::from_secs(8), &words);
}

/// SIGINT, then SIGTERM, at moments of `up` and of `bench`: exit code 130 and a clean house without `rm`.
pub(crate) fn interrupts_leave_nothing() {
    use rustix::process::{Pid, Signal, kill_process};
    let home = Home::new();
    let bench = [
        "bench",
        "--preset",
        "tiny",
        "--rate",
        "200",
        "--duration",
        "20s",
    ];
    let cases: [(&[&str], u64, Signal); 4] = [
        (&["up", "c"], 800, Signal::INT),
        (&["up", "c", "-n", "2"], 1800, Signal::TERM),
        (&bench, 1200, Signal::INT),
        (&bench, 9000, Signal::TERM),
    ];
    for (words, moment, signal) in cases {
        let mut helenus = home.start(words);
        std::thread::sleep(Duration::from_millis(moment));
        let pid = Pid::from_raw(i32::try_from(helenus.id()).expect("a pid")).expect("a pid");
        kill_process(pid, signal).expect("it lives");
        let code = helenus.wait().expect("it ends").code();
        assert_eq!(code, Some(130), "{words:?} after {moment} ms");
        let listed = home.helenus(&["list", "--format", "json"]).ok().json();
        assert_eq!(
            listed["clusters"].as_array().map(Vec::len),
            Some(0),
            "{words:?}: {listed}"
        );
    }
}
