// Activities of the packet workers, with the same colours in all views.

/** Names of the activities except idling, in the order of their colours. */
export const ACTIVITIES = ["ethernet", "bridging", "networking", "firewall", "l7-matcher", "queuing", "encrypting", "management"];

/** Returns the colour of an activity as a value of CSS. */
export const colourOf = (name) => `var(--s${(ACTIVITIES.indexOf(name) + 1) || ACTIVITIES.length})`;
