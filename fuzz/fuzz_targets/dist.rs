//! Distributions and ratios: what is read is written as it was, and every draw lies between its ends.
#![no_main]

use helenus_model::dist::{Dist, RatioDist};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(dist) = text.parse::<Dist>() {
        let (min, max) = (dist.min(), dist.max());
        assert!(min <= max, "{dist}");
        for step in 0..64_u64 {
            let bits = step.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            for value in [
                dist.draw(bits),
                dist.at(step, bits),
                dist.quantile(step as f64 / 63.0),
            ] {
                assert!((min..=max).contains(&value), "{dist}: {value}");
            }
            // As cassandra-stress prints it: a bound of quanta may lie one beside the ends.
            let printed = dist.printed_quantile(step as f64 / 63.0);
            let beside = min.saturating_sub(1)..=max.saturating_add(1);
            assert!(beside.contains(&printed), "{dist}: {printed}");
        }
        assert!(!dist.in_words().is_empty());
        let written = dist.to_string();
        assert_eq!(written.parse::<Dist>().as_ref(), Ok(&dist));
    }
    if let Ok(ratio) = text.parse::<RatioDist>() {
        let (least, most) = ratio.ends();
        assert!(least <= most, "{ratio}");
        assert!(!ratio.in_words().is_empty());
    }
});
