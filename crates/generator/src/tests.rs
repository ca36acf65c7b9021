mod frames;
mod measuring;
mod searching;
