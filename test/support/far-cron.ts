/** Fires once a year, about half a year from now: no test that turns its clock by hours comes to it, on whatever day it runs. */
export const FAR_CRON = `0 0 15 ${((new Date().getUTCMonth() + 6) % 12) + 1} *`;
