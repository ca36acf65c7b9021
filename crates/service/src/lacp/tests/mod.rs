mod net;
mod odd;
mod pairs;
