/** A parameter without a value is as if it were not there (RFC 6749, section 3.2). */
export function withoutEmpty<Form extends object>(form: Form): Form {
  return Object.fromEntries(Object.entries(form).filter(([, value]) => value !== '')) as Form;
}
