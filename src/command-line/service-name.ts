/** The services of this program, in the order in which they start. */
export const SERVICES = ['platform', 'domains'] as const;
export type Service = (typeof SERVICES)[number];

/** What health answers call a service; the doctor knows its own server by it. */
export function serviceName(service: Service): string {
  return `ironcraft-${service}`;
}
