/** The channel on which the dispatchers of all replicas are woken. */
export const DELIVERIES_CHANNEL = 'webhook_deliveries';
