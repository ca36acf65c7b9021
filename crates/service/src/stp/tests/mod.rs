mod mesh;
mod net;
mod played;
mod small;
