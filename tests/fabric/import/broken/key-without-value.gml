graph [
  node [
    id
  ]
]
