/** The channel on which the replicas are told that a delivery is to be started. */
export const FIRES_CHANNEL = 'schedule_fires';
