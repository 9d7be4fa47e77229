/** Tools that the server itself runs. */
export const hostedToolNames: readonly string[] = ['current_time'];
