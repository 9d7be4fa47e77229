/** Notes one problem of the member of the file at that place, such as `registries[0].password`. */
export type NoteProblem = (place: string, problem: string) => void;
