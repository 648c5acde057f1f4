/** The bits of a file's mode that let its group or everyone read it. */
export const readableByOthers = 0o044;
