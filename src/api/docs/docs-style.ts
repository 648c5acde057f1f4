/** The look of the reference page, over that of Swagger UI. */
export const docsStyle = `
body { margin: 0; }
`;
