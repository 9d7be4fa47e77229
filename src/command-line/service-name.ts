/** What health answers call this service; the doctor knows its own server by it. */
export const SERVICE_NAME = 'ironcraft-platform';
