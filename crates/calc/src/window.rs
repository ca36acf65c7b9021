//! Throughput of a TCP connection: at most one window per round-trip time (RFC 9293, 3.8.6; RFC 7323, 1.1).

use crate::units::{as_rate, bytes, number, rate, span};
use crate::{ArgumentValues, Calculator, Rows, argument, row};

pub(crate) const WINDOW: Calculator = Calculator {
    name: "window",
    help: "Throughput of a TCP connection by its window and round-trip time, and the window for a given rate",
    arguments: &[
        argument("rtt", "round-trip time", "60ms"),
        argument("window", "window in bytes, after scaling", "65535"),
        argument("rate", "target rate, in bits a second", "1G"),
        argument("loss", "packet loss, in percent", "0"),
        argument("mss", "bytes of data in a segment", "1460"),
    ],
    run: window,
};

fn window(given: &ArgumentValues<'_>) -> Result<Rows, String> {
    let (rtt, size) = (given.read("rtt", span)?, given.read("window", bytes)?);
    let (wanted, loss) = (given.read("rate", rate)?, given.read("loss", number)?);
    let mss = given.read("mss", number)?;
    if rtt == 0.0 {
        return Err("rtt=0: expected a time greater than 0".to_owned());
    }
    if loss >= 100.0 {
        return Err(format!("loss={loss}: expected less than 100 percent"));
    }
    let (carries, needs) = (size * 8.0 / rtt, wanted * rtt / 8.0);
    let mut rows = vec![
        row("one connection carries", as_rate(carries)),
        row("window for the rate", format!("{needs:.0} bytes")),
        row(
            "connections for the rate",
            format!("{:.0}", (wanted / carries).ceil().max(1.0)),
        ),
    ];
    if loss > 0.0 {
        // Mathis, Semke, Mahdavi, Ott: "The macroscopic behavior of the TCP congestion avoidance algorithm", 1997.
        let most = mss * 8.0 / rtt * (1.5 / (loss / 100.0)).sqrt();
        rows.push(row("Reno with this loss", as_rate(most.min(carries))));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two captured windows with throughputs calculated by hand.
    #[test]
    fn windows_and_times_make_rates() {
        let first =
            |values: &[(&str, &str)]| WINDOW.run(values).expect("it calculates")[0].1.clone();
        assert_eq!(
            first(&[("window", "4225024"), ("rtt", "60ms")]),
            "563.34 Mbps"
        );
        assert_eq!(first(&[("window", "18944"), ("rtt", "6ms")]), "25.26 Mbps");
        let rows = WINDOW
            .run(&[("rtt", "100ms"), ("rate", "1G")])
            .expect("it calculates");
        assert_eq!(rows[1].1, "12500000 bytes");
        let lossy = WINDOW
            .run(&[("window", "4MiB"), ("loss", "1")])
            .expect("it calculates");
        assert_eq!(lossy[3].1, "2.38 Mbps");
        assert!(WINDOW.run(&[("rtt", "0")]).is_err());
    }
}
